"""Files of replies as VLMEvalKit keeps them for our data sets: written whole or not at all, and read without loss.

VLMEvalKit writes over the only copy, so that a run that is killed leaves half a file, on which every rerun fails. It
reads tables so that a reply `NA` becomes missing, and `nan` when it is stored again.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from spotdiff.errors import ReplyFileError
from spotdiff.failures import VLMEVALKIT_MARK
from spotdiff.tasks import vlmeval_tasks
from vlmeval_ext.predictions import read_rows

_MARK = "_is_spotdiffs"
_TABLES = (".tsv", ".xlsx", ".json")
_UNFINISHED = re.compile(r"_(?:checkpoint|PREV)$")


def keep_whole(module: Any) -> None:
    """Have a module of VLMEvalKit that took `dump` and `load` over from `vlmeval.smp` use ours for our files.

    Further calls change nothing.
    """
    if not hasattr(module.dump, _MARK):
        module.dump = _dumping(module.dump)
        module.load = _loading(module.load)


def holds_replies(file: str | Path) -> bool:
    """Whether VLMEvalKit keeps replies to one of our data sets in a file of this name."""
    path = Path(file)
    stem = _UNFINISHED.sub("", path.stem)
    return path.suffix in (*_TABLES, ".pkl") and any(stem.endswith(f"_{name}") for name in vlmeval_tasks())


def forget_failures(file: Path, load: Callable[[str], Any], dump: Callable[[Any, str], Any]) -> None:
    """Take failed replies out of a checkpoint, so that they are asked for again; VLMEvalKit takes this one as it is."""
    if not file.exists():
        return
    known = load(str(file))
    kept = {index: reply for index, reply in known.items() if VLMEVALKIT_MARK not in str(reply)}
    if len(kept) < len(known):
        dump(kept, str(file))


def _dumping(dump: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(dump)
    def dump_whole(data: Any, f: Any, **options: Any) -> None:
        if not holds_replies(f):
            dump(data, f, **options)
            return
        path = Path(f)
        # A folder, as VLMEvalKit may write another format than it was asked for, under the name that belongs to it.
        folder = path.with_name(f".{path.name}.tmp")
        folder.mkdir(exist_ok=True)
        try:
            dump(data, str(folder / path.name), **options)
            for file in folder.iterdir():
                _move(file, path.with_name(file.name))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    setattr(dump_whole, _MARK, True)
    return dump_whole


def _move(file: Path, target: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())
    os.replace(file, target)


def _loading(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def load_whole(f: Any, *rest: Any, **options: Any) -> Any:
        path = Path(f)
        if not holds_replies(path):
            return load(f, *rest, **options)
        import pandas

        is_table = path.suffix in _TABLES
        try:
            if is_table:
                return pandas.DataFrame(read_rows(path), columns=["index", "prediction"])
            found = load(f, *rest, **options)
            if not isinstance(found, (dict, pandas.DataFrame)):
                raise ValueError(f"it holds a {type(found).__name__}")
            return found
        except OSError:
            raise
        except ReplyFileError as error:
            if isinstance(error.__cause__, OSError):
                raise
            _set_aside(path, error.__cause__ or error)
        # A pickle that was cut can raise nearly anything.
        except Exception as error:
            _set_aside(path, error)
        return pandas.DataFrame(columns=["index", "prediction"]) if is_table else {}

    setattr(load_whole, _MARK, True)
    return load_whole


def _set_aside(path: Path, error: BaseException) -> None:
    aside = path.with_name(f"{path.name}.broken-{datetime.now():%Y%m%d-%H%M%S}")
    os.replace(path, aside)
    print(
        f"vlmeval: {path} is broken ({error!r}). It is {aside.name} now, and its replies are asked for again",
        file=sys.stderr,
        flush=True,
    )
