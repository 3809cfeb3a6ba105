"""How each model family writes a bounding box.

The first four formats are those of the M4Bench release; the newer ones follow the families' own documentation. A user
adds a family, or changes one, in `spotdiff.toml`:

    [box_families.my_model]
    template = "<box>({x1},{y1}),({x2},{y2})</box>"
    scale = 1000            # a number: coordinates run from 0 to it; or "pixels" or "resized", see BoxFamily
    rounding = "floor"      # or "round"
    models = ["my_model"]   # beginnings of the names of the models that use it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from string import Formatter
from typing import Any

from spotdiff.errors import SettingError
from spotdiff.names import normalised
from spotdiff.question import Box


@dataclass(frozen=True)
class BoxFamily:
    """A way to write boxes.

    template: text with {x1} {y1} {x2} {y2}.
    scale: the value at the right and lower edge; "pixels" for pixels of the stored image; "resized" for pixels after
        the family's own resize to multiples of `patch` with an area between `min_pixels` and `max_pixels`, where the
        last pixel is the highest coordinate.
    rounding: "floor" or "round" (half to even, as Python's round).
    models: beginnings of normalised model names (see `normalised`) that use this format, or whole ones with `$` behind.
    """

    template: str
    scale: int | str
    rounding: str = "floor"
    models: tuple[str, ...] = ()
    patch: int = 28
    min_pixels: int = 3136
    max_pixels: int = 12845056

    def write(self, box: Box, size: tuple[int, int]) -> str:
        """The box, in pixels of an image of `size` (width, height), in this family's words."""
        extent = self._extent(size)
        x1, y1, x2, y2 = (self._coordinate(box[i], size[i % 2], extent[i % 2]) for i in range(4))
        return self.template.format(x1=x1, y1=y1, x2=x2, y2=y2)

    def _extent(self, size: tuple[int, int]) -> tuple[int, int]:
        """Width and height of the image in this family's units."""
        if self.scale == "pixels":
            return size
        if self.scale == "resized":
            return resized(*size, self.patch, self.min_pixels, self.max_pixels)
        return int(self.scale), int(self.scale)

    def _coordinate(self, value: int, side: int, extent: int) -> int:
        # The order of operations is the release's: where it rounds down, the factor is a double before it is applied;
        # where it rounds to the nearest, the quotient is.
        by_factor = self.rounding == "floor" or self.scale == "resized"
        scaled = value * (extent / side) if by_factor else value / side * extent
        whole = int(scaled) if self.rounding == "floor" else round(scaled)
        return min(whole, extent - 1) if self.scale == "resized" else whole


def resized(width: int, height: int, patch: int, min_pixels: int, max_pixels: int) -> tuple[int, int]:
    """Width and height after a resize to multiples of `patch`, aspect kept, area within the bounds."""
    new_width, new_height = (max(patch, round(side / patch) * patch) for side in (width, height))
    if new_width * new_height > max_pixels:
        shrink = math.sqrt(width * height / max_pixels)
        new_width, new_height = (max(patch, math.floor(side / shrink / patch) * patch) for side in (width, height))
    elif new_width * new_height < min_pixels:
        grow = math.sqrt(min_pixels / (width * height))
        new_width, new_height = (math.ceil(side * grow / patch) * patch for side in (width, height))
    return new_width, new_height


_PLAIN = "[{x1}, {y1}, {x2}, {y2}]"

FAMILIES: Mapping[str, BoxFamily] = {
    "qwen2_vl": BoxFamily("<|box_start|>({x1},{y1}),({x2},{y2})<|box_end|>", 1000, models=("qwen2_vl",)),
    "internvl": BoxFamily("<box>[[{x1}, {y1}, {x2}, {y2}]]</box>", 1000, "round", models=("internvl", "mini_internvl")),
    "deepseek_vl2": BoxFamily("<|det|>[[{x1}, {y1}, {x2}, {y2}]]<|/det|>", 999, models=("deepseek_vl2",)),
    "pixels": BoxFamily(
        _PLAIN,
        "pixels",
        models=(
            "gpt4",
            "gpt_4",
            "gpt5",
            "gpt_5",
            "chatgpt",
            "gemini",
            "claude",
            "qwen_vl_max",
            "qwenvlmax",
            "spotdiff_baseline",
        ),
    ),
    # Pixels after the resize, so the bounds of the resize matter: those of the processor itself, which servers use, and
    # those that each framework sets for its own Qwen2.5-VL. `qwen2_5_vl` is lmms-eval's word; VLMEvalKit's names go on.
    "qwen2_5_vl": BoxFamily(_PLAIN, "resized", "round"),
    "qwen2_5_vl_lmms_eval": BoxFamily(
        _PLAIN, "resized", "round", models=("qwen2_5_vl$",), min_pixels=200704, max_pixels=1605632
    ),
    "qwen2_5_vl_vlmevalkit": BoxFamily(
        _PLAIN,
        "resized",
        "round",
        models=tuple(f"qwen2_5_vl_{size}b_instruct$" for size in (3, 7, 32, 72)),
        min_pixels=1003520,
        max_pixels=12845056,
    ),
    "qwen3_vl": BoxFamily(_PLAIN, 1000, "round", models=("qwen3_vl", "qwen3_5")),
}


def families(extra: Mapping[str, Mapping[str, Any]]) -> dict[str, BoxFamily]:
    """The built-in families and, after them, those of the user's `[box_families.*]`, which win. Raises SettingError."""
    builtin = {name: family for name, family in FAMILIES.items() if name not in extra}
    return {**builtin, **{name: _from_settings(name, entry) for name, entry in extra.items()}}


def _from_settings(name: str, entry: Mapping[str, Any]) -> BoxFamily:
    known = {field.name for field in fields(BoxFamily)}
    unknown = sorted(set(entry) - known)
    if unknown:
        raise SettingError(
            f"box_families.{name}: unknown field {', '.join(unknown)}. Known: {', '.join(sorted(known))}"
        )
    missing = [key for key in ("template", "scale") if key not in entry]
    if missing:
        raise SettingError(f"box_families.{name}: field {', '.join(missing)} is missing")
    for field, (fits, wanted) in _WANTED.items():
        if field in entry and not fits(entry[field]):
            raise SettingError(f"box_families.{name}: {field} must be {wanted}, not {entry[field]!r}")
    family = BoxFamily(**{**entry, "models": tuple(normalised(model) for model in entry.get("models", ()))})
    if family.min_pixels > family.max_pixels:
        raise SettingError(f"box_families.{name}: min_pixels is above max_pixels")
    return family


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _names_each_edge(template: Any) -> bool:
    try:
        names = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
        template.format(x1=0, y1=0, x2=0, y2=0)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError):
        return False
    return set(names) == {"x1", "y1", "x2", "y2"}


def _are_names(models: Any) -> bool:
    return isinstance(models, list) and all(isinstance(model, str) and normalised(model) for model in models)


_COUNT = (_is_count, "a positive whole number")

_WANTED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "template": (_names_each_edge, "a text with {x1}, {y1}, {x2} and {y2}, and no other braces"),
    "scale": (
        lambda value: _is_count(value) or value in ("pixels", "resized"),
        'a positive whole number, "pixels" or "resized"',
    ),
    "rounding": (lambda value: value in ("floor", "round"), '"floor" or "round"'),
    "models": (_are_names, "a list of names, none of them empty"),
    "patch": _COUNT,
    "min_pixels": _COUNT,
    "max_pixels": _COUNT,
}


def family_of_model(model: str | None, table: Mapping[str, BoxFamily]) -> str | None:
    """The family whose longest `models` entry begins the model's name, the last of equals in the table, or None."""
    name = normalised(model or "")
    matches = [
        (len(start), place, family)
        for place, (family, entry) in enumerate(table.items())
        for start in entry.models
        if (name == start.removesuffix("$") if start.endswith("$") else name.startswith(start))
    ]
    return max(matches)[2] if matches else None


def choose_family(asked: str | None, model: str | None, table: Mapping[str, BoxFamily]) -> BoxFamily:
    """The family that was asked for, else that of the model's name. Raises SettingError when neither tells."""
    name = asked or family_of_model(model, table)
    if name is None:
        raise SettingError(
            f"The questions hold boxes, and the model name {model!r} does not tell how it writes them. "
            f"Set SPOTDIFF_BOX_FAMILY (or box_family in spotdiff.toml) to one of: {', '.join(sorted(table))}"
        )
    if name not in table:
        raise SettingError(
            f"Unknown box family {name!r}. Known: {', '.join(sorted(table))}; more can be defined in spotdiff.toml"
        )
    return table[name]


def fill(template: str, boxes: Sequence[str], mark: str) -> str:
    """The template with its marks replaced by the written boxes, in order."""
    pieces = template.split(mark)
    if len(pieces) != len(boxes) + 1:
        raise ValueError(f"{len(pieces) - 1} marks {mark} for {len(boxes)} boxes in {template!r}")
    return "".join(piece + box for piece, box in zip(pieces, [*boxes, ""], strict=True))
