"""M4Bench: a row and a setting become a question (He et al., IJCAI 2025, and the code of its release)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spotdiff.benchmarks.m4bench.boxes import BoxFamily, choose_family, families, fill
from spotdiff.benchmarks.m4bench.release import release_letter
from spotdiff.benchmarks.m4bench.schema import BOX_MARK, IMAGE_COLUMNS, TEXT_COLUMNS
from spotdiff.errors import DataError, Problem, SettingError
from spotdiff.media.images import draw_box, open_image, side_by_side
from spotdiff.question import LETTERS, Box, Image, Option, Part, Question, Text, shuffled
from spotdiff.settings import Settings
from spotdiff.tasks import FROM_TEXTS, TEXTS_COLUMN, inputs_of

if TYPE_CHECKING:
    from PIL import Image as PILImage

    from spotdiff.tasks import Setting

DRAWN_BOX = "the red box"
"""Stands for a box in the sentence of a drawn visual prompt. Ours: the release only writes boxes."""

BOX_NOTE = "Boxes are given as [x1, y1, x2, y2] in pixels: the left, top, right and bottom edge.\n"
"""The release's code explains boxes to closed models; no published prompt holds its sentence. This wording is ours."""


@dataclass(frozen=True)
class Variant:
    """One way to ask a row.

    prompted: with the visual prompt, which names the object's box in each image. drawn: those boxes are drawn, not
    written. joined: both images side by side in one. swapped: image 2 first; boxes are exchanged with the images, so
    that the question keeps its answer. seed: of the option shuffle, None keeps the order of the data. note: explain
    boxes first. captioned: a caption stands in place of each image.
    """

    prompted: bool = False
    drawn: bool = False
    joined: bool = False
    swapped: bool = False
    seed: int | None = None
    note: bool = False
    captioned: bool = False

    @classmethod
    def of(cls, setting: Setting, settings: Settings) -> Variant:
        prompted = bool(setting.options.get("visual_prompt"))
        captioned = bool(setting.options.get(FROM_TEXTS))
        return cls(
            prompted=prompted,
            drawn=prompted and not captioned and settings.visual_prompt == "drawn",
            joined=settings.layout == "concat",
            swapped=settings.swap,
            seed=settings.shuffle_seed,
            note=settings.box_note,
            captioned=captioned,
        )


def question(row: Mapping[str, Any], setting: Setting, settings: Settings, model: str | None) -> Question:
    """The question of a row that `problems` found no fault in. Images may be absent as long as they are not opened.

    model: name of the model, which tells how boxes are written unless `box_family` is set.
    Raises SettingError when the row holds boxes and neither tells, DataError when the setting has a visual prompt and
    the row has none.
    """
    variant = Variant.of(setting, settings)
    key = f"{setting.name}/{row['id']}"
    if variant.prompted and not row["visual_prompt_boxes"]:
        raise DataError(f"question {key}: the data hold no visual prompt for it. Prepare them from both forms")
    write = _BoxWriter(row, variant, settings, model)
    options = tuple(
        Option(letter, write(template, boxes), tuple(_box(box) for box in boxes))
        for letter, template, boxes in zip(LETTERS, row["options"], row["option_boxes"], strict=False)
    )
    gold: tuple[str, ...] = (row["answer"],)
    if variant.seed is not None:
        options, gold = shuffled(options, gold, variant.seed, key)
    return Question(
        id=key,
        setting=setting.name,
        parts=_parts(row, key, variant, _prompt(row, options, variant, write)),
        options=options,
        gold=gold,
        cluster=row["pair"],
        groups={
            "setting": setting.name,
            "category": row["category"] or "none",
            **(inputs_of(row) if variant.captioned else {}),
        },
    )


def _parts(row: Mapping[str, Any], key: str, variant: Variant, prompt: str) -> tuple[Part, ...]:
    """Images, or captions in their place, then the prompt. Without captions where the row has none: it is not asked."""
    if not variant.captioned:
        return (*_images(row, key, variant), Text(prompt))
    captions = row.get(TEXTS_COLUMN) or ["" for _ in IMAGE_COLUMNS]
    shown = reversed(captions) if variant.swapped else captions
    lines = [f"Image {number}: {caption}" for number, caption in enumerate(shown, start=1)]
    return (Text("\n".join([*lines, prompt])),)


def _prompt(row: Mapping[str, Any], options: Sequence[Option], variant: Variant, write: _BoxWriter) -> str:
    """Visual prompt, question and options, one option a line; nothing else, as the release has it."""
    written = variant.prompted and not variant.drawn
    note = write.note() if variant.note and (written or any(option.boxes for option in options)) else ""
    visual = ""
    if variant.prompted:
        boxes = row["visual_prompt_boxes"]
        drawn = fill(row["visual_prompt"], [DRAWN_BOX] * len(boxes), BOX_MARK)
        visual = drawn[:1].upper() + drawn[1:] if variant.drawn else write(row["visual_prompt"], boxes)
    lines = [f"{option.letter}. {option.text}" for option in options]
    return "\n".join([note + visual + row["question"], *lines])


class _BoxWriter:
    """Fills a template's marks with boxes as the model's family writes them, which is looked up at the first box."""

    def __init__(self, row: Mapping[str, Any], variant: Variant, settings: Settings, model: str | None) -> None:
        self._sizes = [(int(width), int(height)) for width, height in row["image_sizes"]]
        self._swapped = variant.swapped
        self._settings = settings
        self._model = model
        self._family: BoxFamily | None = None

    def __call__(self, template: str, boxes: Sequence[Sequence[int]]) -> str:
        sizes = self._sizes
        if self._swapped:
            boxes, sizes = list(reversed(boxes)), list(reversed(sizes))
        written = [self.family.write(_box(box), size) for box, size in zip(boxes, sizes, strict=False)]
        return fill(template, written, BOX_MARK)

    def note(self) -> str:
        if self.family.scale != "pixels":
            raise SettingError("box_note explains boxes in pixels, and this box family writes others. Switch it off")
        return BOX_NOTE

    @property
    def family(self) -> BoxFamily:
        if self._family is None:
            self._family = choose_family(self._settings.box_family, self._model, families(self._settings.box_families))
        return self._family


def _images(row: Mapping[str, Any], key: str, variant: Variant) -> tuple[Part, ...]:
    def single(number: int) -> PILImage.Image:
        column = IMAGE_COLUMNS[number]
        image = open_image(row.get(column), f"question {key}, {column}")
        return draw_box(image, _box(row["visual_prompt_boxes"][number])) if variant.drawn else image

    order = (1, 0) if variant.swapped else (0, 1)
    if variant.joined:
        return (Image(lambda: side_by_side([single(number) for number in order])),)
    return tuple(Image(lambda number=number: single(number)) for number in order)  # type: ignore[misc]


def _box(box: Sequence[int]) -> Box:
    x1, y1, x2, y2 = box
    return x1, y1, x2, y2


def metrics(asked: Question, reply: str) -> dict[str, float]:
    """`acc_release`: right by the release's own rules, without the judge that follows them there."""
    texts = {option.letter: option.text or "" for option in asked.options}
    return {"acc_release": float(release_letter(reply, texts) in asked.gold)}


def problems(row: Mapping[str, Any], file: str) -> list[Problem]:
    """All faults of one row, pixels aside."""
    name = str(row.get("id") or "?")
    missing = [column for column in TEXT_COLUMNS if row.get(column) is None]
    if missing:
        return [Problem(file, name, column, "is missing", "Prepare the data again") for column in missing]
    if unfit := _unfit(row):
        return [Problem(file, name, column, message, "Prepare the data again") for column, message in unfit.items()]
    return [
        *_option_problems(row, file, name),
        *_template_problems(row, file, name),
        *_box_problems(row, file, name),
    ]


def _unfit(row: Mapping[str, Any]) -> dict[str, str]:
    """Column -> what is wrong with the type of its value, or with its emptiness."""
    found = {
        name: f"{row[name]!r} has another type" for name, kind in TEXT_COLUMNS.items() if not _fits(row[name], kind)
    }
    texts = {name: [row[name]] for name in ("id", "question", "pair")} | {"options": row["options"]}
    empty = [name for name in texts if name not in found and not all(text.strip() for text in texts[name])]
    return found | dict.fromkeys(empty, "is empty")


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, (list, tuple)) and all(_fits(entry, kind[0]) for entry in value)
    return isinstance(value, kind) and not isinstance(value, bool)


def _option_problems(row: Mapping[str, Any], file: str, name: str) -> list[Problem]:
    count = len(row["options"])
    if not 2 <= count <= len(LETTERS):
        return [Problem(file, name, "options", f"{count} options", "A question needs 2 to 26")]
    letters = LETTERS[:count]
    if row["answer"] not in list(letters):
        message = f"the right answer {row['answer']!r} is none of the {count} options"
        return [Problem(file, name, "answer", message, f"Use one letter of {letters[0]} to {letters[-1]}")]
    return []


def _template_problems(row: Mapping[str, Any], file: str, name: str) -> list[Problem]:
    pairs = [("visual_prompt", row["visual_prompt"], row["visual_prompt_boxes"])]
    if len(row["option_boxes"]) != len(row["options"]):
        message = f"boxes for {len(row['option_boxes'])} of {len(row['options'])} options"
        return [
            Problem(file, name, "option_boxes", message, "Give one list of boxes an option, empty where it has none")
        ]
    pairs.append(("question", row["question"], []))
    pairs += [
        (f"options[{i}]", text, boxes)
        for i, (text, boxes) in enumerate(zip(row["options"], row["option_boxes"], strict=True))
    ]
    return [
        Problem(
            file,
            name,
            field,
            f"{text.count(BOX_MARK)} marks {BOX_MARK} for {len(boxes)} boxes",
            "Give each mark its box: one for each image, or none",
        )
        for field, text, boxes in pairs
        if text.count(BOX_MARK) != len(boxes) or len(boxes) not in (0, len(IMAGE_COLUMNS))
    ]


def _box_problems(row: Mapping[str, Any], file: str, name: str) -> list[Problem]:
    found = []
    lists = {"visual_prompt_boxes": row["visual_prompt_boxes"]}
    lists |= {f"option_boxes[{i}]": boxes for i, boxes in enumerate(row["option_boxes"])}
    sizes = row["image_sizes"]
    if any(lists.values()) and (
        len(sizes) != len(IMAGE_COLUMNS) or any(len(size) != 2 or min(size) < 1 for size in sizes)
    ):
        return [
            Problem(
                file,
                name,
                "image_sizes",
                f"{sizes} is not the width and height of two images",
                "Give both sizes in pixels",
            )
        ]
    for field, boxes in lists.items():
        for number, (box, size) in enumerate(zip(boxes, sizes, strict=False), start=1):
            if not _inside(box, size):
                message = f"box {list(box)} does not lie inside image {number}, which is {size[0]}x{size[1]}"
                found.append(
                    Problem(file, name, field, message, "Write boxes as x1, y1, x2, y2 in pixels, x1 < x2, y1 < y2")
                )
    return found


def _inside(box: Sequence[int], size: Sequence[int]) -> bool:
    return len(box) == 4 and 0 <= box[0] < box[2] <= size[0] and 0 <= box[1] < box[3] <= size[1]


def pixel_problems(row: Mapping[str, Any], sizes: Mapping[str, tuple[int, int]], file: str) -> list[Problem]:
    """Images whose pixels are not those that the boxes were measured in. sizes: column -> width, height as decoded."""
    if not row["image_sizes"]:
        return []
    stated = dict(zip(IMAGE_COLUMNS, (tuple(size) for size in row["image_sizes"]), strict=False))
    return [
        Problem(
            file,
            str(row["id"]),
            column,
            f"the image is {size[0]}x{size[1]}, the row says {stated[column]}",
            "Fetch the image of the release",
        )
        for column, size in sizes.items()
        if column in stated and size != stated[column]
    ]
