"""From a prompt with the frames of two videos to an answer, by looking: M3-Verse's part of the pixel-reading server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from PIL import Image
from pixel_eye import CannotTell
from video_eye import FLOOR, Sighting, Tint, View, look

from spotdiff.media.images import pixel_digest

Part = str | Image.Image

CANNOT_TELL = "I cannot tell."
NONE_LISTED = "No correct option is listed."

_SAME_TINT = 30
_ROOM_OF = {"fridge": "kitchen", "counter": "kitchen", "bed": "bedroom", "bathtub": "bathroom", "sofa": "living room"}
_ROOMS = ("kitchen", "living room", "bedroom", "bathroom", "study")
_KINDS = (
    "ball", "cup", "vase", "cushion", "star", "hat", "box", "book", "floor lamp", "ceiling lamp", "TV",
    "fridge",
)  # fmt: skip
_DEVICES = ("floor lamp", "ceiling lamp", "TV")
_PLACES = ("counter", "sofa", "bed", "table", "shelf", FLOOR)
_COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink")
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_NAMES_OF_VIDEOS = (
    re.compile(r"\b(?:(first)|(second)) video", re.IGNORECASE),
    re.compile(r"\b(?:(first|before)|(second|after))\b", re.IGNORECASE),
)
"""Where the first of these names none, the second counts."""

_ONE = (
    "{letters}",
    "({letters})",
    "{letters}.",
    "{letters}. {text}",
    "Answer: {letters}",
    "**{letters}**",
    "The correct option is {letters}.",
    "The correct answer is ({letters}).",
    '["{letters}"]',
)
_SEVERAL: tuple[tuple[str, str], ...] = (
    ("{letters}", ","),
    ("{letters}", ", "),
    ("{letters}", " and "),
    ("{letters}", ""),
    ('["{letters}"]', '", "'),
    ("Answer: {letters}", ", "),
    ("**{letters}**", ","),
    ("The correct options are {letters}.", " and "),
    ("({letters})", "), ("),
)
"""A wording, and what stands between two letters."""

Truth = bool | None
"""Whether an option is right; None where a video is missing that would tell."""


def _all(*truths: Truth) -> Truth:
    if False in truths:
        return False
    return None if None in truths else True


def _opposite(truth: Truth) -> Truth:
    return None if truth is None else not truth


@dataclass(frozen=True)
class Named:
    """What a text names: a kind of thing, and its colour where that is named too."""

    kind: str
    colour: str

    @classmethod
    def in_text(cls, text: str) -> Named:
        kinds = [kind for kind in _KINDS if re.search(rf"\b{kind}s?\b", text)]
        colours = [colour for colour in _COLOURS if re.search(rf"\b{colour}\b", text)]
        if len(kinds) != 1 or len(colours) > 1:
            raise CannotTell(f"no thing that is known: {text!r}")
        return cls(kinds[0], colours[0] if colours else "")

    def fits(self, thing: Sighting) -> bool:
        return thing.kind == self.kind and self.colour in ("", thing.colour)


@dataclass(frozen=True)
class Place:
    """A piece of furniture or the floor, and the room where that is named."""

    on: str
    room: str

    @classmethod
    def in_text(cls, text: str) -> Place:
        return cls(_only(place for place in _PLACES if re.search(rf"\b{place}\b", text)), _room(text, needed=False))

    def fits(self, place: Place) -> bool:
        return self.on == place.on and self.room in ("", place.room)


def _room(text: str, *, needed: bool = True) -> str:
    found = [room for room in _ROOMS if re.search(rf"\b{room}\b", text, re.IGNORECASE)]
    if len(found) > 1 or (needed and not found):
        raise CannotTell(f"{len(found)} rooms in {text!r}")
    return found[0] if found else ""


def _only(found: Iterable[str]) -> str:
    different = sorted(set(found))
    if len(different) != 1:
        raise CannotTell(f"one expected, {different} found")
    return different[0]


class Seen:
    """All that the frames of one video show."""

    def __init__(self, views: Sequence[View]) -> None:
        self._views = views

    @cached_property
    def _rooms(self) -> list[tuple[Tint, str]]:
        """Tint of the walls and name of each room; the name tells from the furniture, and is empty where none does."""
        tints: list[Tint] = []
        for wall in (wall for view in self._views for wall in (view.wall, *(thing.wall for thing in view.things))):
            if not any(_alike(wall, tint) for tint in tints):
                tints.append(wall)
        return [(tint, self._name(tint)) for tint in tints]

    def _name(self, tint: Tint) -> str:
        kinds = {thing.kind for view in self._views for thing in view.things if _alike(thing.wall, tint)}
        names = {_ROOM_OF[kind] for kind in kinds if kind in _ROOM_OF}
        return names.pop() if len(names) == 1 else ""

    def room_at(self, tint: Tint) -> str:
        return next(name for known, name in self._rooms if _alike(known, tint))

    @property
    def stays(self) -> list[tuple[str, int]]:
        """The rooms in the order of visits, and the number of frames of each visit."""
        return [(room, len(list(frames))) for room, frames in groupby(self.room_at(view.wall) for view in self._views)]

    @property
    def visits(self) -> list[str]:
        return [room for room, _ in self.stays]

    def sightings(self, named: Named) -> list[Sighting]:
        return [thing for view in self._views for thing in view.things if named.fits(thing)]

    def first_frame(self, named: Named) -> int | None:
        frames = (number for number, view in enumerate(self._views) if any(named.fits(thing) for thing in view.things))
        return next(frames, None)

    def shows(self, named: Named) -> bool:
        return bool(self.sightings(named))

    def place(self, named: Named) -> Place:
        """Where a thing is. Where furniture is cut off by the frame's edge, the thing seems to be on the floor."""
        things = self.sightings(named)
        if not things:
            raise CannotTell(f"no {named.colour} {named.kind} is seen")
        furniture = {thing.on for thing in things} - {FLOOR}
        return Place(_only(furniture or {FLOOR}), _only(self.room_at(thing.wall) for thing in things))

    def things_at(self, place: Place) -> list[Named]:
        """What stands in a place."""
        seen = {
            Named(thing.kind, thing.colour) for view in self._views for thing in view.things if thing.kind in _KINDS
        }
        return [named for named in sorted(seen, key=repr) if place.fits(self.place(named))]

    def colour(self, named: Named) -> str:
        return _only(thing.colour for thing in self.sightings(named))

    def look(self, named: Named) -> tuple[str, str]:
        """Colour and state; a thing whose state is all that can change has no colour of its own."""
        things = self.sightings(named)
        state = _only(thing.state for thing in things)
        return ("" if state in ("on", "off") else _only(thing.colour for thing in things), state)

    def count(self, kind: str, room: str = "") -> int:
        """Number of things of a kind, told apart by their colours."""
        things = self.sightings(Named(kind, ""))
        return len({thing.colour for thing in things if room in ("", self.room_at(thing.wall))})


def _most(values: Sequence[str]) -> str:
    return max(sorted(set(values)), key=values.count)


def _alike(first: Tint, second: Tint) -> bool:
    return sum(abs(a - b) for a, b in zip(first, second, strict=True)) < _SAME_TINT


Video = Seen | None
"""What one of the two videos shows; None where it was not sent."""

Judge = Callable[[str], Truth]
"""An option's text -> whether it is right."""


@dataclass(frozen=True)
class Videos:
    first: Video
    second: Video

    def named(self, word: str) -> Video:
        return {"first": self.first, "second": self.second}[word]


@dataclass(frozen=True)
class Asked:
    """A prompt, taken apart. options: letter -> text. several: more than one option is right."""

    question: str
    options: Mapping[str, str]
    several: bool


class VideoReader:
    """Answers questions about two videos from their frames."""

    def __init__(self) -> None:
        self._views: dict[str, View | None] = {}

    def answer_parts(self, parts: Sequence[Part]) -> str:
        """The reply to a prompt; `CANNOT_TELL` where question, frames and their labels do not fit together.

        Where a video is missing, the first option that what is seen does not rule out.
        """
        text = "\n".join(part for part in parts if isinstance(part, str))
        try:
            asked = _taken_apart(text)
            letters = _chosen(asked, _truths(asked, self._videos(parts)))
        except CannotTell:
            return CANNOT_TELL
        choice = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
        if len(letters) == 1:
            return _ONE[choice % len(_ONE)].format(letters=letters[0], text=asked.options[letters[0]])
        wording, between = _SEVERAL[choice % len(_SEVERAL)]
        return wording.format(letters=between.join(letters))

    def possible(self, parts: Sequence[Part]) -> list[str]:
        """Letters of the options that what is seen does not rule out: the right ones where both videos are seen."""
        asked = _taken_apart("\n".join(part for part in parts if isinstance(part, str)))
        truths = _truths(asked, self._videos(parts))
        return _open(asked, truths) if None in truths.values() else _chosen(asked, truths)

    def _videos(self, parts: Sequence[Part]) -> Videos:
        """Frames belong to the video that was named last before them."""
        frames: dict[str, list[View]] = {"first": [], "second": []}
        current = ""
        for part in parts:
            if isinstance(part, str):
                current = _named_last(part) or current
            elif not current:
                raise CannotTell("frames of an unnamed video")
            elif (view := self._view(part)) is None:
                raise CannotTell("no room is seen")
            else:
                frames[current].append(view)
        if any(views and not any(view.things for view in views) for views in frames.values()):
            raise CannotTell("nothing but walls")
        first, second = (Seen(views) if views else None for views in frames.values())
        return Videos(first, second)

    def _view(self, image: Image.Image) -> View | None:
        """The same frame comes with many questions."""
        digest = pixel_digest(image)
        if digest not in self._views:
            self._views[digest] = look(image)
        return self._views[digest]


def _named_last(text: str) -> str:
    """Which video a text names last: first, second, or none."""
    for names in _NAMES_OF_VIDEOS:
        if found := list(names.finditer(text)):
            return "first" if found[-1][1] else "second"
    return ""


def _taken_apart(text: str) -> Asked:
    match = re.search(r"Question:\s*(.+?)\s*\nOptions:\s*\n(.+)", text, re.DOTALL)
    if match is None:
        raise CannotTell("no question")
    options = dict(re.findall(r"^([A-Z])\. (.+?)\s*$", match[2], flags=re.MULTILINE))
    if len(options) < 2:
        raise CannotTell("no options")
    return Asked(match[1], options, "There are more than one correct option" in match[2])


def _truths(asked: Asked, videos: Videos) -> dict[str, Truth]:
    """By letter, for the options that say something."""
    judge = _judge(asked, videos)
    return {letter: judge(text) for letter, text in asked.options.items() if text != NONE_LISTED}


def _open(asked: Asked, truths: Mapping[str, Truth]) -> list[str]:
    return [letter for letter in asked.options if truths.get(letter) is not False]


def _chosen(asked: Asked, truths: Mapping[str, Truth]) -> list[str]:
    if None in truths.values():
        return _open(asked, truths)[:1]
    none_listed = [letter for letter, text in asked.options.items() if text == NONE_LISTED]
    right = [letter for letter, truth in truths.items() if truth] or none_listed
    if not right or (len(right) > 1 and not asked.several):
        raise CannotTell(f"{len(right)} options fit")
    return right


def _judge(asked: Asked, videos: Videos) -> Judge:
    for pattern, answering in _QUESTIONS.items():
        if match := re.fullmatch(pattern, asked.question):
            return answering(asked, videos, match)
    raise CannotTell(f"an unknown question: {asked.question!r}")


def _of(video: Video, truth: Callable[[Seen], bool]) -> Truth:
    return None if video is None else truth(video)


def _room_location(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    named, video = Named.in_text(match[1]), videos.named(match[2])
    return lambda text: _of(video, lambda seen: seen.place(named).room == _room(text))


def _visited_after(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    room, video = _room(match[1]), videos.named(match[2])

    def after(seen: Seen) -> list[str]:
        visits = seen.visits
        return visits[visits.index(room) + 1 :] if room in visits else []

    return lambda text: _of(video, lambda seen: _room(text) in after(seen))


def _colour(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    named, video = Named.in_text(match[1]), videos.named(match[2])
    return lambda text: _of(video, lambda seen: seen.colour(named) == text.lower())


def _count(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    kind, video = Named.in_text(match[1]).kind, videos.named(match[3])
    room = _room(match[2], needed=False)
    return lambda text: _of(video, lambda seen: seen.count(kind, room) == int(text))


def _contents(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    place, video = Place.in_text(match[1]), videos.named(match[2])
    return lambda text: _of(video, lambda seen: Named.in_text(text) in seen.things_at(place))


def _first_observed(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    video, pick = videos.named(match[2]), {"earliest": min, "latest": max}[match[1]]
    offered = [text for text in asked.options.values() if text != NONE_LISTED]

    def picked(seen: Seen) -> int | None:
        frames = [seen.first_frame(Named.in_text(text)) for text in offered]
        seen_at = [frame for frame in frames if frame is not None]
        return pick(seen_at) if seen_at else None

    return lambda text: _of(
        video, lambda seen: picked(seen) is not None and seen.first_frame(Named.in_text(text)) == picked(seen)
    )


def _nth_room(seen: Seen, ordinal: str) -> str:
    number = _ORDINALS.index(ordinal)
    if number >= len(seen.visits):
        raise CannotTell(f"no {ordinal} visit")
    return seen.visits[number]


def _nth_type(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    video = videos.named(match[2])
    return lambda text: _of(video, lambda seen: _nth_room(seen, match[1]) == _room(text))


def _nth_objects(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    video = videos.named(match[2])

    def inside(seen: Seen, named: Named) -> bool:
        return seen.shows(named) and seen.place(named).room == _nth_room(seen, match[1])

    return lambda text: _of(video, lambda seen: inside(seen, Named.in_text(text)))


def _placed_on(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    named, video = Named.in_text(match[1]), videos.named(match[2])
    return lambda text: _of(video, lambda seen: Place.in_text(text).fits(seen.place(named)))


def _visit_count(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    room, video = _room(match[1]), videos.named(match[2])
    return lambda text: _of(video, lambda seen: seen.visits.count(room) == int(text))


def _both(videos: Videos, truth: Callable[[Seen, Seen], bool]) -> Truth:
    if videos.first is None or videos.second is None:
        return None
    return truth(videos.first, videos.second)


def _other_room(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    def differs(named: Named) -> Truth:
        return _both(videos, lambda first, second: first.place(named).room != second.place(named).room)

    return lambda text: differs(Named.in_text(text))


def _other_look(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    def differs(named: Named) -> Truth:
        return _both(
            videos,
            lambda first, second: (
                first.shows(named) and second.shows(named) and first.look(named) != second.look(named)
            ),
        )

    return lambda text: differs(Named.in_text(text))


def _other_power(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    """An option names all devices that are switched over, and no other."""

    def switched(first: Seen, second: Seen) -> set[str]:
        devices = (Named(kind, "") for kind in _DEVICES)
        shown = [device for device in devices if first.shows(device) and second.shows(device)]
        return {device.kind for device in shown if first.look(device) != second.look(device)}

    return lambda text: _both(
        videos, lambda first, second: switched(first, second) == {kind for kind in _DEVICES if kind in text}
    )


def _other_place(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    def differs(named: Named) -> Truth:
        return _both(videos, lambda first, second: first.place(named) != second.place(named))

    return lambda text: differs(Named.in_text(text))


def _objects_in_room_of_visit(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    """What the shown video shows in the room that the other video pointed out."""
    shown, pointing = videos.named(match[1]), videos.named(match[3])

    def inside(named: Named) -> Truth:
        if shown is None or pointing is None:
            return None if shown is None or shown.shows(named) else False
        return shown.shows(named) and shown.place(named).room == _nth_room(pointing, match[2])

    return lambda text: inside(Named.in_text(text))


def _place_of_pointed_out(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    """Where one video shows what stands in a place of the other one."""
    shown, place, pointing = videos.named(match[1]), Place.in_text(match[2]), videos.named(match[3])

    def fits(text: str) -> Truth:
        if pointing is None or shown is None:
            return None
        things = pointing.things_at(place)
        if len(things) != 1:
            raise CannotTell(f"{len(things)} things on the {place.on}")
        return Place.in_text(text).fits(shown.place(things[0]))

    return fits


def _successor(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    """What one video shows in the place where the other one shows a thing."""
    shown, named, pointing = videos.named(match[1]), Named.in_text(match[2]), videos.named(match[3])

    def fits(text: str) -> Truth:
        if shown is None or pointing is None:
            return None if shown is None or shown.shows(Named.in_text(text)) else False
        return Named.in_text(text) in shown.things_at(pointing.place(named))

    return fits


def _shown_in_one(present: str) -> Callable[[Asked, Videos, re.Match[str]], Judge]:
    def answering(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
        there, absent = videos.named(present), videos.named("first" if present == "second" else "second")

        def fits(named: Named) -> Truth:
            shown, hidden = _of(there, lambda seen: seen.shows(named)), _of(absent, lambda seen: seen.shows(named))
            return _all(shown, _opposite(hidden))

        return lambda text: fits(Named.in_text(text))

    return answering


def _longest_stay(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    def longest(first: Seen, second: Seen) -> str:
        frames = [room for seen in (first, second) for room, count in seen.stays for _ in range(count)]
        return _most(frames)

    return lambda text: _both(videos, lambda first, second: longest(first, second) == _room(text))


def _total_visits(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    room = _room(match[1])

    def fits(total: int) -> Truth:
        counts = [None if seen is None else seen.visits.count(room) for seen in (videos.first, videos.second)]
        known = sum(count for count in counts if count is not None)
        if None in counts:
            return None if total >= known else False
        return total == known

    return lambda text: fits(int(text))


def _movement(asked: Asked, videos: Videos, match: re.Match[str]) -> Judge:
    named = Named.in_text(match[1])

    def fits(text: str) -> Truth:
        origin, _, target = text.partition(" to ")
        return _all(
            _of(videos.first, lambda seen: Place.in_text(origin).fits(seen.place(named))),
            _of(videos.second, lambda seen: Place.in_text(target).fits(seen.place(named))),
        )

    return fits


_IN = r"in the (first|second) video"
_QUESTIONS: Mapping[str, Callable[[Asked, Videos, re.Match[str]], Judge]] = {
    rf"In which room is (.+) located {_IN}\?": _room_location,
    rf"Which rooms were visited after (.+) {_IN}\?": _visited_after,
    rf"What color is (.+) {_IN}\?": _colour,
    rf"How many (\w+) are there in the (.+) {_IN}\?": _count,
    rf"What objects are on (.+) {_IN}\?": _contents,
    rf"Among the following objects, which one was first observed (earliest|latest) {_IN}\?": _first_observed,
    rf"What is the type of the (\w+) room visited {_IN}\?": _nth_type,
    rf"How many times did the observer visit (.+) {_IN}\?": _visit_count,
    rf"What is (.+) placed on {_IN}\?": _placed_on,
    rf"Which objects are observed in the (\w+) room visited {_IN}\?": _nth_objects,
    r"Which of the following objects are in another room .+\?": _other_room,
    r"Which of the following objects had any attribute changes .+\?": _other_look,
    r"Which devices have another power state .+\?": _other_power,
    r"Which object has another openness state .+\?": _other_look,
    r"In the .+, which object changed position .+\?": _other_place,
    rf"Which objects are observed {_IN} in the room that was visited (\w+) {_IN}\?": _objects_in_room_of_visit,
    rf"Where {_IN} (?:is|was) the object that (?:is|was) on (.+) {_IN}\?": _place_of_pointed_out,
    rf"Which object is {_IN} in the place where (.+) was {_IN}\?": _successor,
    r"Which object became visible between .+\?": _shown_in_one("second"),
    r"Among .+, which objects are no longer visible\?": _shown_in_one("first"),
    r"In which room did the observer stay for the longest time in total .+\?": _longest_stay,
    r"How many times did the observer visit (.+) in total across .+\?": _total_visits,
    r"Where did (.+) move from the first video to the second video\?": _movement,
}
"""What is asked -> how it is answered."""
