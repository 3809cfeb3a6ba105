"""From a prompt with frames of several views to an answer, by looking: MVVBench's part of the pixel-reading server.

What it relies on in a prompt: `View 0:` at the end of the text before the frames of a view; the words `grid of frames`
where one image holds all frames, one row a view and four columns; `Question: ...` and the options below it, one a line
as `A. text`; `step by step` or `Stage 1` where a chain of thought is asked for.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from PIL import Image
from pixel_eye import CannotTell
from view_eye import Glimpse, look, read_clock
from view_floor import Floor, Moment, Person

from spotdiff.media.images import pixel_digest

Part = str | Image.Image
Views = Mapping[int, Sequence[Glimpse]]

CANNOT_TELL = "I cannot tell."
NOT_SYNCHRONISED = "I cannot tell: the views are not synchronised."

_COLUMNS = 4
_MOST_ROWS = 6
_CLEAR = 2 / 3
"""Share of the moments that must agree."""

_FORMS = (
    "{letter}",
    "({letter})",
    "{letter}.",
    "{letter}. {text}",
    "Answer: {letter}",
    "**{letter}**",
    "The correct option is {letter}.",
    "The correct answer is ({letter}).",
    "<answer>{letter}</answer>",
)

_SAID_OF_A_SIDE = {"left": "On the left", "right": "On the right", "far": "On the far side", "same": "On the same side"}


class NotSynchronised(CannotTell):
    """Frames at the same position of two views that show different moments."""


@dataclass(frozen=True)
class Asked:
    """A prompt, taken apart. options: letter -> text. chain: a chain of thought is asked for."""

    text: str
    question: str
    options: Mapping[str, str]
    chain: bool

    def guess(self, letters: Iterable[str] = ()) -> str:
        """One of some letters, or of all, by the digest of the text."""
        among = sorted(letters) or sorted(self.options)
        return among[self.digest % len(among)]

    @property
    def digest(self) -> int:
        return int.from_bytes(hashlib.sha256(self.text.encode()).digest()[:4], "big")


class _Eye:
    """Looks at frames; the same ones come with many questions."""

    def __init__(self) -> None:
        self._seen: dict[str, Glimpse | None] = {}

    def views(self, parts: Sequence[Part]) -> dict[int, list[Glimpse]]:
        """Frames belong to the view that was named last before them."""
        found: dict[int, list[Glimpse]] = {}
        current: int | None = None
        for part in parts:
            if isinstance(part, str):
                label = re.search(r"View (\d+):\s*$", part)
                current = int(label[1]) if label else None
            elif current is None:
                return {row: [self._look(cell) for cell in cells] for row, cells in enumerate(_grid(parts))}
            else:
                found.setdefault(current, []).append(self._look(part))
        return found

    def _look(self, image: Image.Image) -> Glimpse:
        digest = pixel_digest(image)
        if digest not in self._seen:
            self._seen[digest] = look(image)
        glimpse = self._seen[digest]
        if glimpse is None:
            raise CannotTell("a frame without a clock")
        return glimpse


def _grid(parts: Sequence[Part]) -> list[list[Image.Image]]:
    """The cells of the one image that holds all frames, row by row; every cell has a clock."""
    images = [part for part in parts if not isinstance(part, str)]
    if len(images) != 1 or "grid of frames" not in "\n".join(part for part in parts if isinstance(part, str)):
        raise CannotTell("frames of an unnamed view")
    width, height = images[0].size
    for rows in range(1, _MOST_ROWS + 1):
        lines = [round(height * row / rows) for row in range(rows + 1)]
        cuts = [round(width * column / _COLUMNS) for column in range(_COLUMNS + 1)]
        cells = [
            [images[0].crop((left, top, right, low)) for left, right in pairwise(cuts)] for top, low in pairwise(lines)
        ]
        if all(read_clock(cell) for row in cells for cell in row):
            return cells
    raise CannotTell("no grid of frames")


_EYE = _Eye()


class ViewReader:
    """Answers questions about what several views of one scene show together."""

    def answer_parts(self, parts: Sequence[Part]) -> str:
        """The reply to a prompt; without any image a guess, and `CANNOT_TELL` where frames and question do not fit."""
        text = "\n".join(part for part in parts if isinstance(part, str))
        try:
            asked = _taken_apart(text)
            if len(parts) == sum(isinstance(part, str) for part in parts):
                return _reply(asked, asked.guess(), ())
            views = _EYE.views(parts)
            _check_clocks(views)
            floor = Floor(views)
            return _reply(asked, _chosen(asked, floor), _findings(floor))
        except NotSynchronised:
            return NOT_SYNCHRONISED
        except CannotTell:
            return CANNOT_TELL


class SingleViewReader:
    """Answers from the frames of one view, as well as one can.

    What this view does not show may be any of what is left: what is seen in most of its frames is taken, and chance
    decides between what is seen equally often.
    """

    def __init__(self, view: int) -> None:
        self._view = view

    def answer_parts(self, parts: Sequence[Part]) -> str:
        asked = _taken_apart("\n".join(part for part in parts if isinstance(part, str)))
        return asked.guess(self.possible(parts))

    def possible(self, parts: Sequence[Part]) -> list[str]:
        """Letters of the options for which the most speaks; all where nothing speaks for any."""
        asked = _taken_apart("\n".join(part for part in parts if isinstance(part, str)))
        votes = _votes(asked, Floor({self._view: _EYE.views(parts)[self._view]}), guessing=True)
        most = max((votes[text.lower()] for text in asked.options.values()), default=0)
        return [letter for letter, text in asked.options.items() if votes[text.lower()] == most]


def _taken_apart(text: str) -> Asked:
    match = re.search(r"Question:\s*(.+?)\s*\n(?:Options:\s*\n)?((?:[A-Z]\. .+(?:\n|$)){2,})", text)
    if match is None:
        raise CannotTell("no question")
    options = dict(re.findall(r"^([A-Z])\. (.+?)\s*$", match[2], flags=re.MULTILINE))
    return Asked(text, match[1], options, bool(re.search("step by step|Stage 1", text)))


def _check_clocks(views: Views) -> None:
    """Of two views, the frames at one position must be the nearest ones to one instant, and time must not go back.

    A frame is the nearest one for half an interval before and after its own instant.
    """
    clocks = [[glimpse.clock for glimpse in glimpses] for glimpses in views.values()]
    if len({len(of_view) for of_view in clocks}) > 1:
        raise NotSynchronised("views of different numbers of frames")
    for of_view in clocks:
        if any(later.number < earlier.number for earlier, later in pairwise(of_view)):
            raise CannotTell("frames that are not in order")
    for at_once in zip(*clocks, strict=True):
        latest = max(clock.seconds - 0.5 / clock.rate for clock in at_once)
        soonest = min(clock.seconds + 0.5 / clock.rate for clock in at_once)
        if latest > soonest - 0.001:
            raise NotSynchronised("frames of different moments")


def _chosen(asked: Asked, floor: Floor) -> str:
    votes = _votes(asked, floor)
    fitting = [letter for letter, text in asked.options.items() if votes[text.lower()] >= _CLEAR * votes.total()]
    if not votes or len(fitting) != 1:
        raise CannotTell(f"{dict(votes)} seen")
    return fitting[0]


def _votes(asked: Asked, floor: Floor, *, guessing: bool = False) -> Counter[str]:
    """What the moments say, in the words of the options, in lower case.

    guessing: where the moment or the person that is meant cannot be seen, all of them count.
    """
    for pattern, answering in _QUESTIONS.items():
        if match := re.fullmatch(pattern, asked.question):
            return answering(_Scene(floor, guessing), match)
    raise CannotTell(f"an unknown question: {asked.question!r}")


@dataclass(frozen=True)
class _Scene:
    """A floor, and whether what is not seen is guessed at."""

    floor: Floor
    guessing: bool

    def moments(self, condition: str | None) -> list[Moment]:
        """Those at which a condition holds: a lamp is lit, or somebody holds up a card."""
        moments = self.floor.moments
        if condition is None:
            return moments
        if re.fullmatch(r"the lamp(?: in View \d+)? is lit", condition):
            meant = [moment for moment in moments if moment.lit]
        elif match := re.fullmatch(r"the person in the (\w+) shirt in View (\d+) holds up a card", condition):
            shirt, view = match[1], int(match[2])
            meant = [m for m in moments if any(p.card and p.shirt == shirt and view in p.xs for p in m.people)]
        else:
            raise CannotTell(f"an unknown condition: {condition!r}")
        return meant or (moments if self.guessing else [])

    def people(self, moment: Moment, words: str) -> Sequence[Person]:
        """Those who are pointed out at a moment."""
        meant = self._pointed_out(moment.people, words)
        if self.guessing:
            return meant or moment.people
        return meant if len(meant) == 1 else ()

    def _pointed_out(self, people: Sequence[Person], words: str) -> Sequence[Person]:
        if match := re.fullmatch(r"wears an? (\w+) (bib|backpack|shirt)(?: in View \d+)?", words):
            return [person for person in people if person.wears(match[2]) == match[1]]
        if match := re.fullmatch(r"is farthest to the (left|right) in View (\d+)", words):
            view, most = int(match[2]), {"left": min, "right": max}[match[1]]
            seen = [person for person in people if view in person.xs]
            return [most(seen, key=lambda person: person.xs[view])] if seen else []
        if match := re.fullmatch(r"is nearest to the (\w+)(?: in View (\d+))?", words):
            place = self.floor.things.get(match[1])
            seen = [person for person in people if match[2] is None or int(match[2]) in person.xs]
            return [min(seen, key=lambda person: abs(person.place - place))] if seen and place is not None else []
        raise CannotTell(f"nobody known: {words!r}")


def _colour(scene: _Scene, match: re.Match[str]) -> Counter[str]:
    moments = scene.moments(match["first"] or match["last"])
    worn = [person.wears(match["piece"]) for moment in moments for person in scene.people(moment, match["who"])]
    return Counter(colour for colour in worn if colour)


def _nearer(scene: _Scene, match: re.Match[str]) -> Counter[str]:
    places = [(kind, scene.floor.things.get(kind)) for kind in (match["one"], match["other"])]
    known = [(kind, place) for kind, place in places if place is not None]
    if len(known) < 2:
        return Counter()
    return Counter(
        "the " + min(known, key=lambda thing: abs(thing[1] - person.place))[0]
        for moment in scene.moments(match["first"])
        for person in scene.people(moment, match["who"])
    )


def _pose(scene: _Scene, match: re.Match[str]) -> Counter[str]:
    seen_from, camera = int(match[1]), int(match[2])
    if scene.guessing and not {seen_from, camera} <= set(scene.floor.views):
        return Counter()
    side = scene.floor.side(seen_from, camera)
    return Counter([f"{_SAID_OF_A_SIDE[side]} of the scene".lower()])


def _number(scene: _Scene, match: re.Match[str]) -> Counter[str]:
    """Of different shirts; of what one view shows where the others are missing."""
    views = [int(number) for number in re.findall(r"View (\d+)", match["views"])]
    if not scene.guessing and not set(views) <= set(scene.floor.views):
        raise CannotTell("a view is missing")
    people = [person for view in views for glimpse in scene.floor.seen(view) for person in glimpse.people]
    return Counter([str(len({person.shirt for person in people if person.card or not match["card"]}))])


_QUESTIONS = {
    r"W(?:hile (?P<first>.+), w)?hat color is the (?P<piece>bib|backpack)(?: in View \d+)? of the person who "
    r"(?P<who>.+?)(?: while (?P<last>.+))?\?": _colour,
    r"W(?:hile (?P<first>.+), w)?hich is nearer(?: in View \d+)? to the person who (?P<who>.+), the (?P<one>\w+) or "
    r"the (?P<other>\w+)\?": _nearer,
    r"Seen from the camera of View (\d+), where does the camera of View (\d+) stand\?": _pose,
    r"How many different people (?:are seen|(?P<card>hold up a card at some time)) in (?P<views>View .+) "
    r"together\?": _number,
}
"""What is asked -> how it is answered."""


def _findings(floor: Floor) -> list[str]:
    """What is seen in each view, in words."""
    found = []
    for number in floor.views:
        shirts = sorted({person.shirt for glimpse in floor.seen(number) for person in glimpse.people})
        found.append(f"View {number}: people in shirts of these colors: {', '.join(shirts)}.")
    return found


def _reply(asked: Asked, letter: str, findings: Sequence[str]) -> str:
    text = asked.options[letter]
    if not asked.chain:
        return _FORMS[asked.digest % len(_FORMS)].format(letter=letter, text=text)
    verdicts = [f"{each}. {said}: {'yes' if each == letter else 'no'}" for each, said in asked.options.items()]
    blocks = (
        "I go through the views one by one.",
        "\n".join(findings) or "There are no frames, so I have to guess.",
        "Now I compare the views: what is on the left in one of them may be on the right in another.",
        "The options are:\n" + "\n".join(verdicts),
        f"Answer: {letter}",
    )
    return "\n\n".join(blocks)
