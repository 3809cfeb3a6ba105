"""Chat requests as an OpenAI-compatible client sends them, for servers that are asked without a framework."""

from __future__ import annotations

import base64
import io
import json
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image


def encoded(image: Image.Image, **options: Any) -> bytes:
    """options: of `Image.save`, format among them."""
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


def body(parts: Sequence[str | Image.Image], **options: Any) -> bytes:
    """A request whose one message has these parts; options: how images are encoded, by default as PNG."""
    options = options or {"format": "PNG", "compress_level": 1}
    content: list[Mapping[str, Any]] = []
    for part in parts:
        if isinstance(part, str):
            content.append({"type": "text", "text": part})
        else:
            data = base64.b64encode(encoded(part, **options)).decode()
            url = f"data:image/{options['format'].lower()};base64,{data}"
            content.append({"type": "image_url", "image_url": {"url": url}})
    return json.dumps({"model": "any", "messages": [{"role": "user", "content": content}]}).encode()


def ask(url: str, data: bytes) -> str:
    """The reply of the server at this base URL."""
    request = urllib.request.Request(f"{url}/chat/completions", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        reply: str = json.load(response)["choices"][0]["message"]["content"]
    return reply
