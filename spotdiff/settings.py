"""Every knob in one typed object.

A value comes from, in this order: the task itself, the environment variable `SPOTDIFF_<NAME>`, `spotdiff.toml` in the
working folder, the default below. What was in force is printed at the start of a run and stands in every result.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from spotdiff.errors import SettingError
from spotdiff.media.forms import FORMS, Form

PREFIX = "SPOTDIFF_"
FILE_NAME = "spotdiff.toml"
JUDGE_KEY = "SPOTDIFF_JUDGE_KEY"
"""Environment variable with the judge's API key. A secret is never a setting: settings are printed and stored."""

_NOT_SETTINGS = {JUDGE_KEY, "SPOTDIFF_NO_REGISTER", "SPOTDIFF_REPLAY_DATA"}


def _default_folder(kind: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spotdiff" / kind


@dataclass(frozen=True)
class Settings:
    """What a run may be told.

    data: folder of prepared data sets, one folder each.
    hub: where a data set that is not prepared is fetched from, on the Hub: a namespace `ORG`, whose repositories are
    called like the data sets, or a repository `ORG/NAME`. hub_revision: branch, tag or commit; default: the newest.
    media_cache: folder for decoded frames, and for images that a framework wants as files.
    frame_memory: megabytes (10**6 bytes) of decoded frames that a process holds. frame_disk: gigabytes (10**9 bytes) of
    decoded frames that are kept in media_cache for later runs, and as many of image files; 0 keeps none.
    box_family: how boxes are written (spotdiff.benchmarks.m4bench.boxes); default: by the model's name.
    box_families: further families, `[box_families.NAME]` tables of spotdiff.toml.
    layout: two images apart, or joined side by side into one.
    visual_prompt: how a visual prompt is given where a task has one: boxes as text, or drawn on the images.
    box_note: put a sentence before the question that explains how boxes are written.
    shuffle_seed: deal the options out anew, by this seed and the question's id; default: the order of the data.
    control_seed: of controls that draw: another order of the frames, the frames of another sample.
    allow_missing: run on the questions whose videos are there, where some are not. The result covers a part.
    swap: give the two images in the other order (boxes and their mentions follow).
    frames, fps: how many frames are taken of each video, by number or by rate; default: the task's, by the model's
    name. frame_size: width and height that frames are resized to; default: the task's.
    video_form: as a list of frames, as one image a frame, or as a file; default: by the model's name.
    video_timeout: seconds that decoding one video may take before it counts as broken.
    max_new_tokens: replaces the task's own limit of new tokens, for models that think before they answer.
    judge_url, judge_model: OpenAI-compatible endpoint of a judge for replies that no rule can read; default: no judge.
    probes: folder of texts that one task makes and a later one reads (spotdiff.probes).
    probe_captions, probe_summaries: whose texts are read, where several models have made some: a name in that folder.
    probe_partial: go on without texts that are missing. The result says how many questions lack any.
    clip_length: frames in each clip that a video is cut into to be described. clip_frames: frames of it that are shown;
    default: by the model's name.
    """

    data: Path = field(default_factory=lambda: _default_folder("data"))
    hub: str | None = None
    hub_revision: str | None = None
    media_cache: Path = field(default_factory=lambda: _default_folder("media"))
    frame_memory: int = 700
    frame_disk: int = 50
    box_family: str | None = None
    box_families: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    layout: Literal["separate", "concat"] = "separate"
    visual_prompt: Literal["text", "drawn"] = "text"
    box_note: bool = False
    shuffle_seed: int | None = None
    control_seed: int = 0
    allow_missing: bool = False
    swap: bool = False
    frames: int | None = None
    fps: float | None = None
    frame_size: tuple[int, int] | None = None
    video_form: Form | None = None
    video_timeout: float = 60.0
    max_new_tokens: int | None = None
    judge_url: str | None = None
    judge_model: str | None = None
    probes: Path = field(default_factory=lambda: _default_folder("probes"))
    probe_captions: str | None = None
    probe_summaries: str | None = None
    probe_partial: bool = False
    clip_length: int = 100
    clip_frames: int | None = None

    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults, as plain values for a log or a result."""
        default = Settings()
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: _plain(value) for name, value in values.items() if value != getattr(default, name)}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _folder(value: Any) -> Path:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a folder")
    return Path(value).expanduser()


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def _repository(value: Any) -> str:
    name = _text(value)
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name, re.ASCII):
        raise ValueError("a namespace of the Hub, ORG, or a repository, ORG/NAME")
    return name


def _one_of(*choices: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return str(value)

    return convert


def _switch(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if str(value).strip().lower() not in words:
        raise ValueError("true or false")
    return words[str(value).strip().lower()]


def _whole(minimum: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        wanted = f"a whole number from {minimum} up"
        try:
            number = int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or number < minimum:
            raise ValueError(wanted)
        return number

    return convert


def _address(value: Any) -> str:
    address = _text(value)
    wanted = f"an http:// or https:// address without name, password or query (a key goes into {JUDGE_KEY})"
    try:
        parts = urlsplit(address)
    except ValueError:
        raise ValueError(wanted) from None
    host = parts.netloc
    if parts.scheme not in ("http", "https") or not host or "@" in host or parts.query or re.search(r"\s", address):
        raise ValueError(wanted)
    return address


def _positive(value: Any) -> float:
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise ValueError("a number above 0")
    return number


def _size(value: Any) -> tuple[int, int]:
    match = re.fullmatch(r"\s*([1-9]\d{0,4})\s*x\s*([1-9]\d{0,4})\s*", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("width x height in pixels, such as 448x448")
    return int(match[1]), int(match[2])


def _tables(value: Any) -> Mapping[str, Mapping[str, Any]]:
    if not isinstance(value, Mapping) or not all(isinstance(entry, Mapping) for entry in value.values()):
        raise ValueError(f"tables [box_families.NAME] in {FILE_NAME}")
    return value


_CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "data": _folder,
    "hub": _repository,
    "hub_revision": _text,
    "media_cache": _folder,
    "frame_memory": _whole(0),
    "frame_disk": _whole(0),
    "box_family": _text,
    "box_families": _tables,
    "layout": _one_of("separate", "concat"),
    "visual_prompt": _one_of("text", "drawn"),
    "box_note": _switch,
    "shuffle_seed": _whole(0),
    "control_seed": _whole(0),
    "allow_missing": _switch,
    "swap": _switch,
    "frames": _whole(1),
    "fps": _positive,
    "frame_size": _size,
    "video_form": _one_of(*FORMS),
    "video_timeout": _positive,
    "max_new_tokens": _whole(1),
    "judge_url": _address,
    "judge_model": _text,
    "probes": _folder,
    "probe_captions": _text,
    "probe_summaries": _text,
    "probe_partial": _switch,
    "clip_length": _whole(1),
    "clip_frames": _whole(1),
}


def load_settings(
    own: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """The settings in force.

    own: what the task fixes itself. environment: default os.environ. folder: where spotdiff.toml is looked for
    (default: the working folder). Raises SettingError on an unknown name or a value that does not fit, and says where
    it came from.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for source in (_from_file(folder or Path.cwd()), _from_environment(environment)):
        values = _over(values, {name: _converted(name, value, origin) for name, value, origin in source})
    settings = replace(Settings(), **_over(values, own or {}))
    if (settings.judge_url is None) != (settings.judge_model is None):
        raise SettingError("judge_url and judge_model go together: set both, or neither")
    if settings.hub_revision is not None and settings.hub is None:
        raise SettingError("hub_revision is a revision of the repository that hub names: set hub too")
    return settings


def _over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """The values of two sources, the upper one winning; frames and fps are one choice."""
    if "frames" in upper and "fps" in upper:
        raise SettingError("frames and fps are two ways to say how many frames are taken: set one of them")
    chosen = {"frames", "fps"} if {"frames", "fps"} & set(upper) else set()
    return {**{name: value for name, value in lower.items() if name not in chosen}, **upper}


def _from_environment(environment: Mapping[str, str]) -> list[tuple[str, Any, str]]:
    names = sorted(key for key in environment if key.startswith(PREFIX) and key not in _NOT_SETTINGS)
    return [(key.removeprefix(PREFIX).lower(), environment[key], key) for key in names if environment[key] != ""]


def _from_file(folder: Path) -> list[tuple[str, Any, str]]:
    path = folder / FILE_NAME
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path} cannot be read: {error}") from error
    return [(name, value, f"{path}, {name}") for name, value in table.items()]


def _converted(name: str, value: Any, origin: str) -> Any:
    if name not in _CONVERTERS:
        close = difflib.get_close_matches(name, _CONVERTERS, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(_CONVERTERS)}"
        raise SettingError(f"{origin}: there is no setting {name!r}. {hint}")
    try:
        return _CONVERTERS[name](value)
    except ValueError as error:
        # An address that is refused may hold a password.
        found = "" if name == "judge_url" else f", not {value!r}"
        raise SettingError(f"{origin}: {name} must be {error}{found}") from None
