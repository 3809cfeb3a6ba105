"""An OpenAI-compatible HTTP server that answers a benchmark's questions by looking at the pixels it receives.

It knows no data set: what it answers rests on the text and the images of the request alone, so a right score shows that
both arrived whole, in order, with boxes that fit. As a fixture:

    with PixelServer(box_family="qwen3_vl") as server:  # M4Bench; PixelServer(reader=VideoReader()) for M3-Verse
        ...  # ask server.url, then look at server.requests

From a shell, until it is interrupted:

    python tests/e2e/pixel_server.py --port 0 --box-family qwen3_vl [--fault html | --fault 500:3]
    python tests/e2e/pixel_server.py --reader videos  # or states, or views
"""

from __future__ import annotations

import argparse
import base64
import binascii
import io
import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol

from PIL import Image, UnidentifiedImageError
from pixel_reader import Reader
from state_reader import StateReader
from video_reader import VideoReader
from view_reader import ViewReader

from spotdiff.benchmarks.m4bench.boxes import FAMILIES
from spotdiff.media.images import pixel_digest

MODEL = "pixel-reader"


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request.

    seconds: waits before anything else. drop: closes the connection without an answer. content: answers properly, but
    with this text. Else, where there is a body, status, headers and body are sent as they are. A fault with `seconds`
    alone is slow, and right.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content: str | None = None
    seconds: float = 0.0
    drop: bool = False


_PROXY_PAGE = (
    b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in to continue</h1></body></html>"
)


def _failure(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "server_error", "code": None}}).encode()


FAULTS: Mapping[str, Fault] = {
    "500": Fault(500, body=_failure("The server had an error while processing your request")),
    "429": Fault(429, {"Retry-After": "1"}, _failure("Rate limit reached")),
    "html": Fault(200, {"Content-Type": "text/html"}, _PROXY_PAGE),
    "slow": Fault(seconds=5.0),
    "empty": Fault(content=""),
    "drop": Fault(drop=True),
}
"""Ready-made faults, by the names that the command line takes."""

FaultPlan = Callable[[int], "Fault | None"]
"""The number of a request (from 0, in order of arrival) -> what goes wrong with it, or None."""


def always(fault: Fault) -> FaultPlan:
    return lambda number: fault


def first(count: int, fault: Fault) -> FaultPlan:
    """The fault for the first `count` requests."""
    return lambda number: fault if number < count else None


@dataclass(frozen=True)
class Request:
    """One chat completion that was asked for.

    text: all text of the user's messages, joined by line breaks. images: digests of the decoded pixels, in order
    (`spotdiff.media.images.pixel_digest`), and image_sizes their width and height. body: as it came. reply: the text
    that was sent back, None where a fault was sent instead.
    """

    number: int
    text: str
    images: tuple[str, ...]
    image_sizes: tuple[tuple[int, int], ...]
    body: bytes
    reply: str | None

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class PartsReader(Protocol):
    """Replies to the user's texts and images, which come in the order of the request. Threads share it."""

    def answer_parts(self, parts: Sequence[str | Image.Image]) -> str: ...


class _PictureReader:
    """M4Bench's reader, to which the order of texts and images among each other says nothing."""

    def __init__(self, box_family: str) -> None:
        self._reader = Reader(FAMILIES[box_family])

    def answer_parts(self, parts: Sequence[str | Image.Image]) -> str:
        return self._reader.answer(_text(parts), _images(parts))


class BadRequest(Exception):
    """A request that a real server would refuse with status 400."""


class PixelServer:
    """The server, in a thread of its own; use it as a context manager.

    box_family: name in `spotdiff.benchmarks.m4bench.boxes.FAMILIES`, the format that boxes are read in.
    port: 0 takes a free one. fault: which requests go wrong, and how. reader: answers in place of M4Bench's reader.
    """

    def __init__(
        self,
        box_family: str = "qwen3_vl",
        port: int = 0,
        fault: FaultPlan | None = None,
        reader: PartsReader | None = None,
    ) -> None:
        self._reader = reader or _PictureReader(box_family)
        self._fault = fault
        self._lock = threading.Lock()
        self._arrived = 0
        self._requests: list[Request] = []
        self.stopping = threading.Event()
        self._http = _Http(("127.0.0.1", port), _Handler, self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """The base URL that clients take, with /v1."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in order of arrival; those still being answered are not among them."""
        with self._lock:
            return sorted(self._requests, key=lambda request: request.number)

    def start(self) -> PixelServer:
        self._thread.start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def wait(self) -> None:
        """Until the server is stopped."""
        self._thread.join()

    def __enter__(self) -> PixelServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def handle(self, body: bytes) -> Fault:
        """Record a request and say what to send: its fault, or the answer in the form of a `Fault` with content."""
        with self._lock:
            number = self._arrived
            self._arrived += 1
        parts = _received(body)
        fault = self._fault(number) if self._fault else None
        outcome = fault or Fault()
        if not outcome.drop and outcome.body is None and outcome.content is None:
            outcome = replace(outcome, content=self._reader.answer_parts(parts))
        text, images = _text(parts), _images(parts)
        digests, sizes = tuple(pixel_digest(image) for image in images), tuple(image.size for image in images)
        with self._lock:
            self._requests.append(Request(number, text, digests, sizes, body, outcome.content))
        return outcome


def with_images_reversed(body: bytes) -> bytes:
    """The same request with the images of its last message in reverse order."""
    request = json.loads(body)
    parts = request["messages"][-1]["content"]
    places = [number for number, part in enumerate(parts) if part["type"] == "image_url"]
    for number, part in zip(places, [parts[number] for number in reversed(places)], strict=True):
        parts[number] = part
    return json.dumps(request).encode()


def _received(body: bytes) -> list[str | Image.Image]:
    """Texts and images of the user's messages, in order."""
    received: list[str | Image.Image] = []
    try:
        for message in json.loads(body)["messages"]:
            if message["role"] != "user":
                continue
            content = message["content"]
            parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for part in parts:
                if part["type"] == "text":
                    received.append(part["text"])
                elif part["type"] == "image_url":
                    received.append(_decoded(part["image_url"]["url"]))
                else:
                    raise BadRequest(f"content of type {part['type']!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise BadRequest(f"not a chat request: {error!r}") from error
    return received


def _text(parts: Sequence[str | Image.Image]) -> str:
    return "\n".join(part for part in parts if isinstance(part, str))


def _images(parts: Sequence[str | Image.Image]) -> list[Image.Image]:
    return [part for part in parts if not isinstance(part, str)]


def _decoded(url: str) -> Image.Image:
    head, _, data = url.partition(";base64,")
    if head not in ("data:image/png", "data:image/jpeg", "data:image/webp"):
        raise BadRequest("images must be data: URLs of PNG, JPEG or WebP")
    try:
        image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
        return image.convert("RGB")
    except (binascii.Error, UnidentifiedImageError, OSError) as error:
        raise BadRequest(f"an image cannot be decoded: {error}") from error


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    # Clients that ask many questions at once must not be turned away.
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], pixels: PixelServer) -> None:
        super().__init__(address, handler)
        self.pixels = pixels

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is."""
        import sys

        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            return self._send(404, {}, _failure(f"no such page: {self.path}"))
        models = {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "tests"}]}
        return self._send(200, {}, json.dumps(models).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            return self._send(404, {}, _failure(f"no such page: {self.path}"))
        try:
            outcome = self.server.pixels.handle(body)
        except BadRequest as error:
            return self._send(400, {}, _failure(str(error)))
        self.server.pixels.stopping.wait(outcome.seconds)
        if outcome.drop:
            return self._drop()
        if outcome.content is None:
            return self._send(outcome.status, outcome.headers, outcome.body or b"")
        return self._send(200, {}, _completion(json.loads(body).get("model", MODEL), outcome.content))

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: what arrived stands in `PixelServer.requests`."""


def _completion(model: str, content: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    answer = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": model}
    return json.dumps({**answer, "choices": [choice], "usage": usage}).encode()


def _plan(text: str) -> FaultPlan:
    name, _, count = text.partition(":")
    if name not in FAULTS:
        raise argparse.ArgumentTypeError(f"unknown fault {name!r}; known: {', '.join(FAULTS)}")
    return first(int(count), FAULTS[name]) if count else always(FAULTS[name])


_READERS: Mapping[str, Callable[[], PartsReader]] = {"videos": VideoReader, "states": StateReader, "views": ViewReader}


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers questions by looking at the pixels it receives.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one; the address is printed")
    parser.add_argument(
        "--reader",
        choices=["pictures", "videos", "states", "views"],
        default="pictures",
        help="M4Bench, M3-Verse, EgoExo-Next or MVVBench",
    )
    parser.add_argument("--box-family", choices=sorted(FAMILIES), default="qwen3_vl")
    parser.add_argument(
        "--fault", type=_plan, metavar="NAME[:COUNT]", help=f"{', '.join(FAULTS)}; for the first COUNT requests, or all"
    )
    arguments = parser.parse_args()
    reader = _READERS.get(arguments.reader, lambda: None)()
    server = PixelServer(arguments.box_family, arguments.port, arguments.fault, reader).start()
    print(server.url, flush=True)
    try:
        server.wait()
    except KeyboardInterrupt:
        server.stop()


if __name__ == "__main__":
    main()
