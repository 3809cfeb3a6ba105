"""Data set repositories of the Hub, fetched into the cache that all its clients share.

Its address, the token and the cache are those of huggingface_hub (`HF_ENDPOINT`, `hf auth login` or `HF_TOKEN`,
`HF_HOME`); `HF_HUB_OFFLINE=1` takes what is in the cache.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from spotdiff.data.checks import MediaSummary, Stamp
from spotdiff.errors import DataError
from spotdiff.reporting import listed

_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_CHUNK = 1 << 20


def is_repository_id(text: str) -> bool:
    """Whether a text has the form `ORG/NAME`."""
    return _ID.fullmatch(text) is not None


@lru_cache(maxsize=16)
def fetch(repo: str, revision: str | None, stamps: Path) -> Path:
    """The folder in the cache that holds a data set repository, whole; its name is the commit.

    A process asks the Hub once for each repository. Files that are in the cache are not fetched again.
    revision: branch, tag or commit, by default the newest commit. stamps: folder that remembers which files were found
    to have the content that the Hub states.
    Raises DataError when the repository cannot be had, saying what to do.
    """
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(repo, repo_type="dataset", revision=revision))
    except Exception as error:
        # Three HTTP clients and a Rust extension may raise errors of their own here, without a common base.
        raise DataError(told(error, repo, revision)) from error
    _verify(folder, repo, stamps)
    return folder


def told(error: Exception, repo: str, revision: str | None = None, *, writing: bool = False) -> str:
    """What is wrong with a request to the Hub about a data set repository, and how to mend it."""
    from huggingface_hub import errors

    chain = list(_causes(error))
    what = f"The data set repository {repo}"
    if writing and _status(error) in (401, 403):
        return (
            f"{what} may not be written by you ({_status(error)}): log in by `hf auth login`, or set HF_TOKEN, with a "
            "token that may write there"
        )
    if isinstance(error, errors.GatedRepoError):
        return (
            f"{what} is gated: accept its terms on its page, https://huggingface.co/datasets/{repo}, then log in by "
            "`hf auth login` and run again"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{what} has no revision {revision!r}: name a branch, a tag or a commit of it"
    if isinstance(error, errors.RepositoryNotFoundError) or _status(error) in (401, 403, 404):
        return (
            f"{what} does not exist, or you have no access to it: see how its name is written; if it is private, log "
            "in by `hf auth login`"
        )
    if isinstance(error, errors.HFValidationError):
        return f"{repo!r} is no name of a repository on the Hub: write it as ORG/NAME"
    if any(isinstance(cause, errors.OfflineModeIsEnabled) for cause in chain):
        return f"{what} is not in the cache, or not whole, and HF_HUB_OFFLINE is set: unset it, and run again"
    if any(isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT) for cause in chain):
        return f"{what} does not fit on the disk: make room, or set HF_HOME to a folder with more, and run again"
    return (
        f"{what}: the connection to the Hub failed ({_first_line(error if _status(error) else chain[-1])}). Run again: "
        f"what has {'gone up' if writing else 'come in'} whole is not sent again"
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _verify(folder: Path, repo: str, stamps: Path) -> None:
    """Compare the files with the digests that the Hub states, once; clients of the Hub compare sizes alone.

    What differs is taken out of the cache. Raises DataError.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    stamp = Stamp(stamps, files)
    if stamp.read() is not None:
        return
    wrong = [file for file in files if not _is_as_stated(file.resolve())]
    for file in wrong:
        file.resolve().unlink()
        file.unlink()
    if wrong:
        raise DataError(
            f"{repo}: {listed([str(file.relative_to(folder)) for file in wrong])} came with another content than the "
            "Hub states, and was taken out of the cache again. Run again to fetch it anew; if that does not help, tell "
            "the owners of the repository"
        )
    stamp.write(MediaSummary(0, sum(file.stat().st_size for file in files)))


def _is_as_stated(blob: Path) -> bool:
    """A file in the cache is named by its digest: sha256, or that of git. Copies (Windows) are named otherwise."""
    if re.fullmatch("[0-9a-f]{64}", blob.name):
        return _digest(blob, "sha256", b"") == blob.name
    if re.fullmatch("[0-9a-f]{40}", blob.name):
        return _digest(blob, "sha1", b"blob %d\0" % blob.stat().st_size) == blob.name
    return True


def _digest(path: Path, kind: str, head: bytes) -> str:
    digest = hashlib.new(kind, head)
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
