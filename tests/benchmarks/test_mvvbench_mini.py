"""The mini data of MVVBench: valid, balanced, reproducible, and of no use to one who sees no video, or one view."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import permutations, product
from math import dist
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from view_reader import Part, ViewReader

from spotdiff.answers import read_reply
from spotdiff.benchmarks.mvvbench.mini import FOLDER, card, rows, video, write
from spotdiff.benchmarks.mvvbench.mini_drawing import frame
from spotdiff.benchmarks.mvvbench.mini_questions import QUESTIONS
from spotdiff.benchmarks.mvvbench.mini_scenes import SCENES
from spotdiff.benchmarks.mvvbench.mini_world import EARLY, LATE, STEPS, Camera, Person, Thing, World
from spotdiff.benchmarks.mvvbench.schema import CATEGORIES, MOTION, SOURCES, TEXT_COLUMNS

Row = dict[str, Any]
Pixels = np.ndarray

VIDEOS = [(sample, view) for sample, scene in SCENES.items() for view in scene.views]


def read(folder: Path) -> list[Row]:
    read: list[Row] = pq.read_table(folder / "questions" / "test.parquet").to_pylist()
    return read


ROWS = read(FOLDER)


def text(row: Row) -> str:
    """Of the right option."""
    option: str = row["options"]["ABCD".index(row["answer"])]
    return option


def test_each_category_has_four_questions_and_each_scene_has_four() -> None:
    assert Counter(row["category"] for row in ROWS) == dict.fromkeys(CATEGORIES, 4)
    assert Counter(row["sample"] for row in ROWS) == dict.fromkeys(SCENES, 4)


def test_static_and_dynamic_questions_and_all_sources_are_mixed() -> None:
    for kind in MOTION:
        assert sum(row["motion"] == kind for row in ROWS) >= 10
    assert {row["category"] for row in ROWS if row["motion"] == "dynamic"} == set(CATEGORIES) - {"relative camera pose"}
    assert Counter(row["source"] for row in ROWS) == dict.fromkeys(SOURCES, 8)
    assert all(len({row["source"] for row in ROWS if row["sample"] == sample}) == 1 for sample in SCENES)


def test_options_are_two_to_four_different_texts_without_letters_and_the_answer_is_one_of_them() -> None:
    assert Counter(len(row["options"]) for row in ROWS) == {2: 8, 3: 8, 4: 8}
    for row in ROWS:
        assert len(set(row["options"])) == len(row["options"])
        assert row["answer"] in "ABCD"[: len(row["options"])]
        assert not any(re.match(r"\(?[A-D][.):]", option) for option in row["options"])


@pytest.mark.parametrize(("options", "most"), [(2, 4), (3, 3), (4, 2)])
def test_right_letters_are_balanced(options: int, most: int) -> None:
    found = Counter(row["answer"] for row in ROWS if len(row["options"]) == options)
    assert set(found) == set("ABCD"[:options])
    assert max(found.values()) == most


def test_right_answers_are_balanced_within_each_family() -> None:
    def answers(words: str) -> Counter[str]:
        return Counter(text(row) for row in ROWS if words in row["category"])

    assert answers("implicit relative distance") == answers("explicit relative distance")
    assert answers("implicit relative distance") == {"The cone": 2, "The barrel": 2}
    assert set(answers("relative camera pose").values()) == {1}
    ranks = [sorted(row["options"]).index(text(row)) for row in ROWS if row["category"] == "counting"]
    assert sorted(ranks) == [0, 1, 2, 3]
    assert max(answers("attribute").values()) <= 3


def test_most_questions_show_two_views_a_few_three_and_not_always_in_rising_order() -> None:
    assert Counter(len(row["views"]) for row in ROWS) == {2: 21, 3: 3}
    assert sum(row["views"] != sorted(row["views"]) for row in ROWS) >= 8
    for row in ROWS:
        assert set(row["views"]) <= set(row["view_numbers"])
        assert row["view_numbers"] == sorted(SCENES[row["sample"]].views)
        assert row["view_videos"] == [video(row["sample"], view) for view in row["view_numbers"]]
    assert any(np.diff(row["view_numbers"]).max() > 1 for row in ROWS)


def test_every_sample_has_a_view_that_most_of_its_questions_do_not_show() -> None:
    for sample, scene in SCENES.items():
        used = Counter(view for row in ROWS if row["sample"] == sample for view in row["views"])
        assert min(used[view] for view in scene.views) <= 1


def test_a_question_names_no_view_that_it_does_not_show_and_explicit_ones_name_two() -> None:
    for row in ROWS:
        named = set(re.findall(r"View (\d+)", row["question"]))
        assert named <= set(map(str, range(len(row["views"]))))
        assert named == set() if row["category"].startswith("implicit") else len(named) >= 2


def test_windows_lie_strictly_inside_of_all_views_of_the_sample() -> None:
    for row in ROWS:
        assert 0 < row["start"] < row["end"] < min(row["view_seconds"])
        assert row["end"] - row["start"] < 0.9 * min(row["view_seconds"])


def when(row: Row) -> list[tuple[float, float]]:
    """What a dynamic question is about: when the lamp is lit, or when cards are held up."""
    world = SCENES[row["sample"]].world
    if "lamp" in row["question"]:
        assert world.lamp is not None
        return [world.lamp.lit]
    shirt = re.search(r"person in the (\w+) shirt", row["question"])
    return sorted(
        {person.card for person in world.people if person.card and (shirt is None or person.shirt == shirt[1])}
    )


def test_what_a_dynamic_question_asks_about_lasts_a_quarter_of_the_clip_and_falls_into_its_window() -> None:
    dynamic = [row for row in ROWS if row["motion"] == "dynamic"]
    assert all("while" in row["question"].lower() or "at some time" in row["question"] for row in dynamic)
    for row in dynamic:
        length, whole = min(row["view_seconds"]), SCENES[row["sample"]].world.seconds
        for start, end in when(row):
            assert (end - start) * whole >= length / 4
            for count, least in ((8, 2), (4, 1)):
                shown = np.linspace(0, length, count) / whole
                assert ((shown > start + 0.005) & (shown < end - 0.005)).sum() >= least
            inside = np.linspace(row["start"], row["end"], 100) / whole
            assert ((inside > start) & (inside < end)).mean() > 0.4
        first, last = when(row)[0][0], when(row)[-1][1]
        assert first * whole < row["start"] < row["end"] < last * whole


def test_lamps_and_cards_say_as_often_one_half_of_the_recording_as_the_other() -> None:
    """To one who does not see them, either is as likely."""
    found = Counter(span for row in ROWS if row["motion"] == "dynamic" for span in when(row) if "while" in low(row))
    assert found == {EARLY: 4, LATE: 4}


def low(row: Row) -> str:
    question: str = row["question"]
    return question.lower()


def test_nobody_walks_while_a_lamp_is_lit_or_a_card_is_held_up() -> None:
    for start, end in (EARLY, LATE):
        assert all(end <= first or last <= start for first, last in STEPS)


def test_ids_are_unique_and_number_the_questions_of_a_sample() -> None:
    assert [row["id"] for row in ROWS] == [f"{sample}_{number}" for sample in SCENES for number in range(1, 5)]


def test_the_whole_folder_is_smaller_than_400_kilobytes() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 400_000


def test_the_folder_holds_the_card_the_questions_and_the_videos_and_nothing_else() -> None:
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert found == {"README.md", "questions/test.parquet", *(video(*which) for which in VIDEOS)}
    assert (FOLDER / "README.md").read_text("utf-8") == card()


def test_the_file_has_the_columns_and_types_of_the_schema() -> None:
    schema = pq.ParquetFile(FOLDER / "questions" / "test.parquet").schema_arrow
    types = {field.name: re.sub(r"\b(item|element): ", "", str(field.type)) for field in schema}
    lists = {
        "options": "list<string>",
        "view_videos": "list<string>",
        "view_seconds": "list<double>",
        **dict.fromkeys(("views", "view_numbers", "view_frames"), "list<int32>"),
    }
    simple = {str: "string", float: "double"}
    assert types == {name: lists.get(name) or simple[kind] for name, kind in TEXT_COLUMNS.items()}


def test_making_the_rows_again_gives_the_committed_ones() -> None:
    assert [asdict(row) for row in rows()] == ROWS
    assert sum(len(questions) for questions in QUESTIONS.values()) == len(ROWS)


def letter(place: int) -> Callable[[Row], str]:
    return lambda row: "ABCD"[min(place, len(row["options"]) - 1)]


def by(key: Callable[[Row, str], float]) -> Callable[[Row], str]:
    """The first of the options for which the key is highest."""
    return lambda row: "ABCD"[max(range(len(row["options"])), key=lambda place: key(row, row["options"][place]))]


def words(option: str) -> set[str]:
    return set(re.findall(r"\w+", option.lower())) - {"the", "on", "of"}


def told_elsewhere(row: Row, option: str) -> float:
    """How often the words of an option stand in the other questions of its sample and in their options."""
    others = [other for other in ROWS if other["sample"] == row["sample"] and other is not row]
    return sum(len(words(option) & words(" ".join([other["question"], *other["options"]]))) for other in others)


POLICIES: dict[str, Callable[[Row], str]] = {
    "a": letter(0),
    "b": letter(1),
    "c": letter(2),
    "last": letter(3),
    "longest": by(lambda row, option: len(option)),
    "shortest": by(lambda row, option: -len(option)),
    "told elsewhere": by(told_elsewhere),
    "told elsewhere the least": by(lambda row, option: -told_elsewhere(row, option)),
    "named late in the question": by(lambda row, option: low(row).rfind(option.lower())),
    "lowest": by(lambda row, option: -int(option) if option.isdigit() else 0),
    "highest": by(lambda row, option: int(option) if option.isdigit() else 0),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_an_answer_that_sees_no_video_stays_near_chance(policy: str) -> None:
    expected = sum(1 / len(row["options"]) for row in ROWS) / len(ROWS)
    score = sum(POLICIES[policy](row) == row["answer"] for row in ROWS) / len(ROWS)
    assert score == pytest.approx(expected, abs=0.1)


def decoded(path: Path) -> tuple[list[Pixels], list[float]]:
    """Frames as height x width x 3, and when each is shown, in seconds."""
    import av

    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    return [shown.to_ndarray(format="rgb24").astype(np.int16) for shown in frames], [shown.time for shown in frames]


def test_one_view_of_one_sample_has_another_frame_rate_and_lengths_differ_a_little() -> None:
    rates = {}
    for row in ROWS:
        lengths = zip(row["view_frames"], row["view_seconds"], strict=True)
        rates[row["sample"]] = [round((frames - 1) / seconds) for frames, seconds in lengths]
        assert 0 <= max(row["view_seconds"]) - min(row["view_seconds"]) < 0.5
    assert [sample for sample, found in rates.items() if len(set(found)) > 1] == ["hall_03"]
    assert sorted(rates["hall_03"]) == [25, 25, 30]
    assert {min(found) for found in rates.values()} == {10, 12, 15, 25}
    assert {row["sample"] for row in ROWS if len(set(row["view_seconds"])) > 1} == {"hall_03", "hall_04"}


@pytest.mark.slow
@pytest.mark.parametrize(("sample", "view"), VIDEOS)
def test_drawing_again_gives_the_frames_of_the_committed_video(sample: str, view: int) -> None:
    """Within what the encoder loses: where people walk, the frame of another moment is further off."""
    ours = [np.asarray(shown, dtype=np.int16) for shown in SCENES[sample].frames(view)]
    theirs, times = decoded(FOLDER / video(sample, view))
    assert len(ours) == len(theirs) == SCENES[sample].views[view].frames
    assert times == pytest.approx([number / SCENES[sample].views[view].rate for number in range(len(ours))], abs=1e-3)
    assert max(np.abs(a - b).mean() for a, b in zip(ours, theirs, strict=True)) < 3
    assert max(np.abs(a - b).mean() for a, b in zip(ours, theirs[5:], strict=False)) > 4


@pytest.mark.slow
def test_drawing_twice_gives_the_same_pixels() -> None:
    first, second = ([np.asarray(shown) for shown in SCENES["hall_06"].frames(3)] for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.slow
def test_the_written_folder_loads_with_datasets(tmp_path: Path) -> None:
    import datasets

    folder = tmp_path / "mini"
    write(folder)
    assert read(folder) == ROWS
    loaded = datasets.load_dataset(str(folder), "questions", split="test", cache_dir=str(tmp_path / "cache"))
    assert loaded["id"][:] == [row["id"] for row in ROWS]
    assert loaded[1]["view_seconds"] == ROWS[1]["view_seconds"]
    for which in VIDEOS:
        ours, theirs = (decoded(place / video(*which)) for place in (folder, FOLDER))
        assert ours[1] == theirs[1]
        assert max(np.abs(a - b).mean() for a, b in zip(ours[0][::10], theirs[0][::10], strict=True)) < 3


RATE = 20
"""At which other worlds are recorded, in frames per second, by all of their cameras."""

ALONG = [step * 0.7 for step in range(-6, 7)]
PLACES = [(x, y) for x in ALONG for y in ALONG]
"""Where something may stand that a view does not show."""

COLOURS = ("red", "orange", "yellow", "green", "cyan", "blue", "purple", "pink")
READER = ViewReader()


class OneView:
    """What one view of a question shows at eight moments, and other worlds that look exactly like it there."""

    def __init__(self, row: Row, place: int) -> None:
        self.row, self.place = row, place
        self.world = SCENES[row["sample"]].world
        self.cameras = [SCENES[row["sample"]].views[number].camera for number in row["views"]]
        self.numbers = [round(step / 7 * min(row["view_seconds"]) * RATE) for step in range(8)]
        self.shown = [self._drawn(self.world, number) for number in self.numbers]

    def _drawn(self, world: World, number: int) -> bytes:
        return frame(world, self.cameras[self.place], number, RATE).tobytes()

    def looks_alike(self, world: World) -> bool:
        """Frame by frame, to the last bit."""
        return all(self._drawn(world, number) == shown for number, shown in zip(self.numbers, self.shown, strict=True))

    def answer(self, world: World, cameras: Sequence[Camera], options: Sequence[str]) -> str:
        """What one reads who sees all views of the question in a world; empty where that cannot be told."""
        parts: list[Part] = []
        for number, camera in enumerate(cameras):
            parts += [f"View {number}:", *(frame(world, camera, moment, RATE) for moment in self.numbers[2:6])]
        listed = dict(zip("ABCDEFGH", options, strict=False))
        lines = [f"Question: {self.row['question']}", *(f"{key}. {option}" for key, option in listed.items())]
        letters = read_reply(READER.answer_parts([*parts, "\n".join(lines)]), listed).letters
        return listed[letters[0]] if letters else ""

    def possible(self) -> set[str]:
        """The options that are right in one of the worlds that look alike."""
        if self.row["category"] == "counting":
            return self._numbers() & set(self.row["options"])
        found: set[str] = set()
        for world, cameras in self._worlds():
            if found == set(self.row["options"]):
                break
            found |= {self.answer(world, cameras, self.row["options"])} - {""}
        return found

    def _worlds(self) -> Iterator[tuple[World, list[Camera]]]:
        for change in (clothes_of_others, other_times, things_exchanged):
            yield from ((world, self.cameras) for world in change(self.world) if self.looks_alike(world))
        if re.search("camera|farthest", self.row["question"]):
            yield from ((self.world, cameras) for cameras in self._other_cameras())
        yield from ((world, self.cameras) for world in things_elsewhere(self.world) if self.looks_alike(world))

    def _other_cameras(self) -> Iterator[list[Camera]]:
        for aside, turn in product((0.0, -0.8, 0.8, -1.5, 1.5, -2.2, 2.2), range(4)):
            others = [Camera(turn, aside) for _ in self.cameras]
            others[self.place] = self.cameras[self.place]
            yield others

    def _numbers(self) -> set[str]:
        """With fewer and fewer whom this view does not show, then with more of their cards, and with more of them."""
        options = [str(number) for number in range(1, 9)]
        fewer, found = self.world, {self.answer(self.world, self.cameras, options)}
        for person in self.world.people:
            without = replace(fewer, people=tuple(other for other in fewer.people if other != person))
            if self.looks_alike(without):
                fewer, found = without, {*found, self.answer(without, self.cameras, options)}
        more, spare = self.world, [colour for colour in COLOURS if colour not in {p.shirt for p in self.world.people}]
        for person, half in product(self.world.people, (EARLY, LATE)):
            if person.card is None and self.looks_alike(holding := exchanged(more, person, replace(person, card=half))):
                more, found = holding, {*found, self.answer(holding, self.cameras, options)}
        for place in PLACES:
            if found >= set(self.row["options"]) or not spare:
                break
            if self._has_room(more, place) and self.looks_alike(with_one := with_one_more(more, spare[0], place)):
                number = self.answer(with_one, self.cameras, options)
                if number > max(found):
                    more, found, spare = with_one, {*found, number}, spare[1:]
        return found

    def _has_room(self, world: World, place: tuple[float, float]) -> bool:
        """Whether nobody and nothing is near, and one of the cameras has the place in its picture."""
        near = [other for person in world.people for other in (person.place, person.other_place)]
        seen = [camera.projected(place) for camera in self.cameras]
        return any(20 < x < 236 and y < 172 for x, y, _ in seen) and all(
            dist(place, other) > 0.9 for other in (*near, *(thing.place for thing in world.things))
        )


def clothes_of_others(world: World) -> Iterator[World]:
    """People exchange their bibs, or their backpacks."""
    for piece in ("bib", "pack"):
        for worn in permutations([getattr(person, piece) for person in world.people[:3]]):
            changed = [replace(p, **{piece: colour}) for p, colour in zip(world.people, worn, strict=False)]
            yield replace(world, people=(*changed, *world.people[3:]))


def other_times(world: World) -> Iterator[World]:
    """The lamp is lit, or a card is held up, in the other half of the recording."""
    other = {EARLY: LATE, LATE: EARLY}
    if world.lamp is not None:
        yield replace(world, lamp=replace(world.lamp, lit=other[world.lamp.lit]))
    for person in world.people:
        if person.card is not None:
            yield exchanged(world, person, replace(person, card=other[person.card]))


def exchanged(world: World, old: Person, new: Person) -> World:
    return replace(world, people=tuple(new if person == old else person for person in world.people))


def things_exchanged(world: World) -> Iterator[World]:
    """The cone and the barrel stand in each other's place."""
    cone, barrel, rest = taken_apart(world)
    yield replace(world, things=(*rest, replace(cone, place=barrel.place), replace(barrel, place=cone.place)))


def things_elsewhere(world: World) -> Iterator[World]:
    """The cone or the barrel stands in another place."""
    cone, barrel, rest = taken_apart(world)
    for place in PLACES:
        yield replace(world, things=(*rest, replace(cone, place=place), barrel))
        yield replace(world, things=(*rest, cone, replace(barrel, place=place)))


def taken_apart(world: World) -> tuple[Thing, Thing, list[Thing]]:
    """The cone, the barrel and all else that stands still."""
    things = {thing.kind: thing for thing in world.things}
    return things.pop("cone"), things.pop("barrel"), list(things.values())


def with_one_more(world: World, shirt: str, place: tuple[float, float]) -> World:
    """Somebody who holds up a card all the time."""
    person = Person(shirt, "pink", "pink", 0, place, place, card=(0.0, 1.0))
    return replace(world, people=(*world.people, person))


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_one_view_alone_leaves_every_option_possible(row: Row) -> None:
    """For each option there is a world in which it is right, and which looks the same in that view, pixel by pixel."""
    for place in range(len(row["views"])):
        assert OneView(row, place).possible() == set(row["options"])
