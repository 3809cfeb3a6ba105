"""A Hub on this machine: it speaks as much of the Hub's HTTP interface as downloads, `load_dataset` and uploads use.

Clients find it by `HF_ENDPOINT`, which huggingface_hub reads when it is imported: they run in processes of their own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from spotdiff.data.cards import card
from spotdiff.data.store import locate
from spotdiff.settings import Settings

REPO = "ORG/m4bench"

TOKEN = "hf_" + "SecretOfATest" * 2
"""The one token that may write."""


@dataclass
class Faults:
    """What goes wrong, by repository id, or by file within any repository.

    gated: their files need an agreement. cut: how many more times the connection is closed in the middle of a file.
    forged: files whose stated sha256 is that of another content. refused: status of every attempt to write. stuck: how
    many parts of large files come in before all others wait for `freed`.
    """

    gated: set[str] = field(default_factory=set)
    cut: Counter[str] = field(default_factory=Counter)
    forged: set[str] = field(default_factory=set)
    refused: int = 0
    stuck: int | None = None
    freed: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class File:
    """oid: of its git blob. sha256: of a file that is stored apart, None for one in git itself."""

    path: Path
    size: int
    oid: str
    sha256: str | None

    @property
    def etag(self) -> str:
        return self.sha256 or self.oid

    @classmethod
    def of(cls, path: Path, *, forged: bool) -> File:
        content = path.read_bytes()
        apart = path.suffix in (".parquet", ".png", ".jpg", ".mp4", ".tsv")
        seen = hashlib.sha256(content + b"!" * forged).hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{seen}\nsize {len(content)}\n".encode()
        return cls(path, len(content), _blob(pointer if apart else content), seen if apart else None)


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class HubServer:
    """Serves folders as data set repositories, and takes uploads into them.

    repositories: id (`ORG/NAME`) -> folder. Repositories that are created lie below `new`. Files that are stored apart
    come in parts of `part_size` bytes, by default whole.
    """

    def __init__(self, repositories: Mapping[str, Path], new: Path | None = None, part_size: int | None = None) -> None:
        self.repositories = dict(repositories)
        self.faults = Faults()
        self.tags: dict[str, str] = {}
        self.requests: list[str] = []
        self.part_size = part_size
        self._new = new
        self._lock = threading.Lock()
        self._objects: dict[str, bytes] = {}
        self._parts: dict[tuple[str, int], bytes] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> HubServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def environment(self, cache: Path, **more: str) -> dict[str, str]:
        """Of a client: nothing of the person who runs it, and caches of its own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPOTDIFF_", "HF_"))}
        own = {"HF_ENDPOINT": self.url, "HF_HOME": str(cache / "hf"), "SPOTDIFF_MEDIA_CACHE": str(cache / "media")}
        return {**kept, **own, "SPOTDIFF_DATA": str(cache / "data"), **more}

    def files(self, repository: str) -> dict[str, File]:
        folder = self.repositories[repository]
        places = sorted(path for path in folder.rglob("*") if path.is_file())
        named = {path.relative_to(folder).as_posix(): path for path in places}
        return {name: File.of(path, forged=name in self.faults.forged) for name, path in named.items()}

    def commit(self, repository: str) -> str:
        """Changes with the content."""
        state = [(name, file.etag) for name, file in self.files(repository).items()]
        return hashlib.sha1(json.dumps([repository, state]).encode()).hexdigest()

    # --- what is asked ---------------------------------------------------------------------------------------------

    def create(self, repository: str) -> None:
        assert self._new is not None
        (self._new / repository).mkdir(parents=True, exist_ok=True)
        self.repositories.setdefault(repository, self._new / repository)

    def receive(self, sha256: str, part: int, content: bytes) -> None:
        """part: from 1 on."""
        with self._lock:
            waits = self.faults.stuck is not None and len(self._parts) >= self.faults.stuck
            if not waits:
                self._parts[sha256, part] = content
        if waits:
            self.faults.freed.wait(60)

    def complete(self, sha256: str, parts: Collection[int]) -> None:
        """All parts of a file are in."""
        content = b"".join(self._parts[sha256, part] for part in sorted(parts))
        assert hashlib.sha256(content).hexdigest() == sha256
        self._objects[sha256] = content

    def stored(self) -> set[str]:
        """Digests of the files stored apart that came in whole."""
        return set(self._objects)

    def upload_of(self, sha256: str, size: int) -> dict[str, Any]:
        """Where a file that is stored apart is to be sent; nowhere if it is here."""
        if sha256 in self._objects:
            return {}
        place = f"{self.url}/objects/{sha256}"
        if self.part_size is None:
            return {"actions": {"upload": {"href": place}}}
        parts = range(1, -(-size // self.part_size) + 1)
        header = {f"{part:05}": f"{place}/{part}" for part in parts}
        return {"actions": {"upload": {"href": place, "header": {"chunk_size": str(self.part_size), **header}}}}

    def apply(self, repository: str, lines: str) -> None:
        """A commit, one JSON object a line."""
        for line in lines.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                self._put(repository, value["path"], base64.b64decode(value["content"]))
            elif entry["key"] == "lfsFile":
                self._put(repository, value["path"], self._objects[value["oid"]])
            elif entry["key"] == "deletedFile":
                (self.repositories[repository] / value["path"]).unlink()

    def _put(self, repository: str, name: str, content: bytes) -> None:
        path = self.repositories[repository] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        if path == "/api/repos/create":
            return self._create()
        if path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        if match := re.fullmatch(r"/objects/([0-9a-f]{64})(?:/(\d+))?", path):
            return self._object(match[1], match[2])
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/([a-z-]+)(?:/([^/]+)(?:/(.*))?)?)?", path):
            return self._api(match[1], match[2] or "revision", match[3] or "main", match[4] or "")
        if match := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self._resolve(match[1], match[2], match[3])
        if match := re.fullmatch(r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/batch", path):
            return self._batch()
        return self._error(404, "NotFound", f"there is no {path}")

    # --- reading ---------------------------------------------------------------------------------------------------

    def _api(self, repository: str, what: str, revision: str, place: str) -> None:
        if repository not in self.hub.repositories:
            # The Hub does not tell strangers whether a repository exists.
            return self._error(401, "RepoNotFound", "Repository not found")
        if not self._knows(repository, revision):
            return self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if what == "revision":
            return self._json(self._info(repository))
        if what == "tree":
            recursive = parse_qs(urlsplit(self.path).query).get("recursive", ["false"])[0].lower() == "true"
            return self._json(self._tree(repository, place, recursive=recursive))
        if what == "paths-info":
            return self._json(self._entries(repository, self._asked_paths()))
        if what in ("preupload", "commit", "tag"):
            return self._written(repository, what)
        return self._error(404, "NotFound", f"there is no {what}")

    def _knows(self, repository: str, revision: str) -> bool:
        return revision in ("main", self.hub.commit(repository), *self.hub.tags)

    def _info(self, repository: str) -> dict[str, Any]:
        return {
            "_id": "0",
            "id": repository,
            "sha": self.hub.commit(repository),
            "lastModified": "2025-01-01T00:00:00.000Z",
            "createdAt": "2025-01-01T00:00:00.000Z",
            "private": False,
            "gated": "manual" if repository in self.hub.faults.gated else False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "siblings": [{"rfilename": name} for name in self.hub.files(repository)],
        }

    def _asked_paths(self) -> list[str]:
        if "json" in (self.headers.get("Content-Type") or ""):
            asked = json.loads(self.body)["paths"]
            return [asked] if isinstance(asked, str) else list(asked)
        return parse_qs(self.body.decode())["paths"]

    def _entries(self, repository: str, asked: Collection[str]) -> list[dict[str, Any]]:
        """Of those paths that are there, folders among them."""
        everything = {entry["path"]: entry for entry in self._tree(repository, "", recursive=True)}
        return [everything[name] for name in asked if name in everything]

    def _tree(self, repository: str, place: str, *, recursive: bool) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        prefix = f"{place.rstrip('/')}/" if place else ""
        for name, file in self.hub.files(repository).items():
            if not name.startswith(prefix):
                continue
            folders = name.removeprefix(prefix).split("/")[:-1]
            for depth in range(1, len(folders) + 1):
                folder = prefix + "/".join(folders[:depth])
                found[folder] = {"type": "directory", "path": folder, "size": 0, "oid": _blob(folder.encode())}
            entry: dict[str, Any] = {"type": "file", "path": name, "size": file.size, "oid": file.oid}
            if file.sha256:
                entry["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": 130}
            found[name] = entry
        return [entry for name, entry in found.items() if recursive or "/" not in name.removeprefix(prefix)]

    def _resolve(self, repository: str, revision: str, name: str) -> None:
        if repository not in self.hub.repositories:
            return self._error(401, "RepoNotFound", "Repository not found")
        if repository in self.hub.faults.gated:
            return self._error(403, "GatedRepo", f"Access to dataset {repository} is restricted")
        if not self._knows(repository, revision):
            return self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        file = self.hub.files(repository).get(name)
        if file is None:
            return self._error(404, "EntryNotFound", "Entry not found")
        content = file.path.read_bytes()
        headers = {"X-Repo-Commit": self.hub.commit(repository), "ETag": f'"{file.etag}"', "Accept-Ranges": "bytes"}
        if file.sha256:
            headers |= {"X-Linked-Etag": f'"{file.etag}"', "X-Linked-Size": str(file.size)}
        status, start, end = 200, 0, len(content)
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            start, end = int(match[1]), int(match[2]) + 1 if match[2] else end
            status, end = 206, min(end, len(content))
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        if self.command == "GET" and self.hub.faults.cut[name] > 0:
            self.hub.faults.cut[name] -= 1
            return self._cut(status, content[start:end], headers)
        return self._send(status, content[start:end], headers)

    # --- writing ---------------------------------------------------------------------------------------------------

    def _may_write(self) -> bool:
        if self.hub.faults.refused:
            self._error(self.hub.faults.refused, "", "refused")
            return False
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._error(401, "", "Invalid username or password.")
            return False
        return True

    def _create(self) -> None:
        if self._may_write():
            asked = json.loads(self.body)
            repository = f"{asked['organization']}/{asked['name']}"
            if repository in self.hub.repositories:
                return self._json({"url": f"{self.hub.url}/datasets/{repository}"}, 409)
            self.hub.create(repository)
            self._json({"url": f"{self.hub.url}/datasets/{repository}"})
        return None

    def _written(self, repository: str, what: str) -> None:
        if not self._may_write():
            return None
        if what == "preupload":
            files = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith((".parquet", ".mp4")) else "regular",
                    "shouldIgnore": False,
                }
                for file in json.loads(self.body)["files"]
            ]
            return self._json({"files": files})
        if what == "tag":
            tag = json.loads(self.body)["tag"]
            status = 409 if tag in self.hub.tags else 200
            self.hub.tags.setdefault(tag, self.hub.commit(repository))
            return self._json({}, status)
        self.hub.apply(repository, self.body.decode())
        commit = self.hub.commit(repository)
        self._json({"commitUrl": f"{self.hub.url}/datasets/{repository}/commit/{commit}", "commitOid": commit})
        return None

    def _batch(self) -> None:
        if not self._may_write():
            return
        objects = [
            {"oid": entry["oid"], "size": entry["size"], **self.hub.upload_of(entry["oid"], entry["size"])}
            for entry in json.loads(self.body)["objects"]
        ]
        self._json({"transfer": "basic", "objects": objects})

    def _object(self, sha256: str, part: str | None) -> None:
        if self.command == "POST":
            self.hub.complete(sha256, [entry["partNumber"] for entry in json.loads(self.body)["parts"]])
            return self._json({})
        self.hub.receive(sha256, int(part or 1), self.body)
        if part is None:
            self.hub.complete(sha256, [1])
        return self._send(200, b"", {"ETag": f'"{part}"'})

    # --- sending ---------------------------------------------------------------------------------------------------

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _error(self, status: int, code: str, message: str) -> None:
        named = {"X-Error-Code": code} if code else {}
        headers = {**named, "X-Error-Message": message, "Content-Type": "application/json"}
        self._send(status, json.dumps({"error": message}).encode(), headers)

    def _send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self._head(status, len(content), headers or {})
        if self.command != "HEAD":
            self.wfile.write(content)

    def _cut(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self._head(status, len(content), headers)
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        self.close_connection = True

    def _head(self, status: int, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()


@contextmanager
def serving_the_mini_of_m4bench(folder: Path) -> Iterator[HubServer]:
    """A server that has the shipped questions of M4Bench as if they were the whole data set, at ORG/m4bench.

    folder: where its copy of them is put.
    """
    mini = locate("m4bench_mini", Settings())
    shutil.copytree(mini, folder)
    (folder / "README.md").write_text(card("m4bench", [path.name for path in mini.iterdir() if path.is_dir()]))
    with HubServer({REPO: folder}) as running:
        yield running
