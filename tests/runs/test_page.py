"""`report.html` as a file: nothing from elsewhere, everything escaped, and all questions and answers in its data."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mini_runs import HOSTILE, mixed, right, write_run
from PIL import Image
from written_logs import answer, write_lmms_eval

from spotdiff.cli import main
from spotdiff.errors import SettingError
from spotdiff.evaluation import Evaluation
from spotdiff.runs.build import build
from spotdiff.runs.page import page, write_page
from spotdiff.runs.page.browser import CUT, LEAST, browser_data, longest_text, shortened
from spotdiff.runs.page.sources import SIDE, Sources, settings_of_run, sources
from spotdiff.runs.report import Report
from spotdiff.runs.write import write_report
from spotdiff.settings import Settings
from spotdiff.tasks import task


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder, "perfect", ["m4bench_mini"], right)
    write_run(folder, "<b>mixed & cut", ["m4bench_mini", "egoexo_next_mini_ego"], mixed(3), skip=1)
    return build(sorted(folder.iterdir()))


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return page(report)


class Parsed(HTMLParser):
    """All tags with their attributes, and the content of each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, str]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag in ("script", "style"):
            self.raw.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style"):
            self.raw[-1] = (self._inside, self.raw[-1][1] + data)
        else:
            self.text.append(data)


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="text/plain" id="data">([A-Za-z0-9+/=]+)</script>', html)
    assert found is not None
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(found[1])))
    return data


def test_nothing_in_the_page_points_out_of_it(html: str) -> None:
    for tag, attributes in Parsed(html).tags:
        for name in ("src", "href", "xlink:href", "action", "poster", "srcset"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:")), (tag, attributes)
    for _, text in Parsed(html).raw:
        assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|import\(", text)


def test_the_policy_allows_the_page_its_own_script_and_style_alone(html: str) -> None:
    parsed = Parsed(html)
    (policy,) = (
        attributes["content"] for tag, attributes in parsed.tags if tag == "meta" and attributes.get("http-equiv")
    )
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert (rules["img-src"], rules["base-uri"], rules["form-action"]) == ("data:", "'none'", "'none'")
    style, script = (text for tag, text in parsed.raw if "{" in text)
    for rule, text in (("style-src", style), ("script-src", script)):
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert "default-src" not in rules["script-src"]


def test_names_and_replies_never_become_markup(html: str, report: Report) -> None:
    parsed = Parsed(html)
    assert [tag for tag, _ in parsed.tags if tag == "script"] == ["script"] * 2
    assert not [tag for tag, attributes in parsed.tags if tag == "b" or "onerror" in attributes]
    assert any("<b>mixed & cut" in text for text in parsed.text)
    assert all(ord(sign) < 128 for sign in re.sub(r"[–…·½±✓✗]", "", "".join(text for _, text in parsed.raw)))


def test_warnings_stand_before_everything_else(html: str, report: Report) -> None:
    assert report.warnings
    places = [html.index(f"<li>{_escaped(warning)}</li>") for warning in report.warnings]
    assert max(places) < html.index('<section id="runs"')
    assert html.index('class="warnings" role="alert"') < min(places)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;")


def test_the_data_hold_every_answer_as_it_was_logged(html: str, report: Report) -> None:
    data = data_of(html)
    found = set()
    columns, items, texts = data["answers"], data["items"], data["texts"]
    for number, item in enumerate(columns["item"]):
        reply = columns["reply"][number]
        found.add(
            (
                data["runs"][columns["run"][number]]["name"],
                data["families"][items["family"][item]]["name"],
                items["id"][item],
                items["gold"][item],
                columns["letters"][number],
                data["outcomes"][columns["outcome"][number]],
                data["rules"][columns["rule"][number]],
                None if reply is None else texts[reply],
                texts[columns["prompt"][number]],
                f"{data['files'][columns['file'][number]]}, line {columns['line'][number]}",
            )
        )
    assert found == {
        (
            a.run,
            a.family,
            a.scored.id,
            "".join(a.scored.gold),
            "".join(a.scored.letters),
            a.scored.outcome,
            a.rule,
            a.reply,
            a.prompt,
            a.place,
        )
        for a in report.answers
    }
    assert len(texts) == len(set(texts))
    assert {*HOSTILE[:3], HOSTILE[-1]} & set(texts)


def test_the_same_report_makes_the_same_page(html: str, report: Report) -> None:
    assert page(report) == html


def test_published_rows_are_beside_the_runs_and_marked(tmp_path: Path) -> None:
    run = write_lmms_eval(tmp_path / "run", [answer(number) for number in range(4)])
    text = page(build([run]))
    row = re.search(r'<tr class="published">.*?GPT-4o.*?</tr>', text, re.DOTALL)
    assert row is not None
    assert "published, judge-assisted" in row[0]
    assert ">88.6" in row[0]


def test_options_and_right_letters_are_those_of_the_data(report: Report) -> None:
    found = sources(report)
    assert found.remarks == []
    asked = Evaluation.of(task("m4bench_mini_spatial_perception"), "spotdiff_baseline")
    for row in asked.rows():
        question = asked.question(row)
        entry = found.asked["m4bench_mini", question.id]
        assert dict(entry.options) == question.option_texts
        assert entry.prompt == question.prompt


def test_a_question_that_differs_from_the_local_data_shows_nothing_of_them(report: Report) -> None:
    first = report.answers[0]
    other = tuple("ABCD"["ABCD".index(letter) - 1] for letter in first.scored.gold)
    changed = replace(first, scored=replace(first.scored, gold=other, letters=other))
    found = sources(replace(report, answers=(changed,)))
    assert found.asked == {}
    assert len(found.remarks) == 1
    assert "1 of 1 questions are not, or not the same" in found.remarks[0]


def test_data_that_are_not_here_are_named_and_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("SPOTDIFF_HUB", "somebody")
    report = build([write_lmms_eval(tmp_path / "run", [answer(1)])])
    found = sources(report, thumbnails=1)
    assert (found.asked, found.pictures) == ({}, [])
    assert found.remarks == [
        "m4bench, state_invariance: no options and no pictures. "
        f"The data set m4bench is not prepared: there is no folder {tmp_path / 'none' / 'm4bench'}"
    ]
    text = page(report, thumbnails=1)
    assert "The data set m4bench is not prepared" in text
    data = data_of(text)
    assert data["texts"][data["answers"]["prompt"][0]] == "ask state_invariance/1"


def pictures_of(found: Sources) -> Iterator[Image.Image]:
    for text in found.pictures:
        yield Image.open(io.BytesIO(base64.b64decode(text)))


def test_pictures_are_small_and_fit_into_their_room_those_of_differing_questions_first(report: Report) -> None:
    whole = sources(report, thumbnails=50)
    assert whole.remarks == []
    assert all(image.format == "JPEG" and max(image.size) <= SIDE for image in pictures_of(whole))
    assert all(entry.pictures for entry in whole.asked.values())
    scores: dict[tuple[str, str], set[float]] = {}
    for one in report.answers:
        scores.setdefault((one.family, one.scored.id), set()).add(one.scored.score)
    differing = {key for key, found in scores.items() if len(found) > 1}
    some = sources(report, thumbnails=0.1)
    shown = {key for key, entry in some.asked.items() if entry.pictures}
    assert 0 < len(shown) < len(whole.asked)
    assert shown <= differing or differing <= shown
    used = {number for entry in some.asked.values() for number, _ in entry.pictures}
    assert sum(len(some.pictures[number]) for number in used) <= 100_000
    assert len(some.remarks) == 1
    assert "--thumbnails MEGABYTES" in some.remarks[0]


def test_a_picture_is_what_the_model_was_given(report: Report) -> None:
    found = sources(report, thumbnails=50)
    asked = Evaluation.of(task("egoexo_next_mini_ego"))
    row = asked.rows()[0]
    question = asked.question(row)
    entry = found.asked["egoexo_next_mini", question.id]
    given = [part.open().convert("L") for part in question.images()]
    assert len(entry.pictures) == len(given)
    for (number, _), image in zip(entry.pictures, given, strict=True):
        small = Image.open(io.BytesIO(base64.b64decode(found.pictures[number]))).convert("L")
        same = image.resize(small.size)
        gaps = numpy.asarray(same, dtype=float) - numpy.asarray(small, dtype=float)
        assert numpy.abs(gaps).mean() < 6


def test_settings_of_a_run_are_those_it_was_asked_with_and_data_lie_where_this_machine_says() -> None:
    own = Settings(data=Path("/here"), hub="somebody")
    told = {"data": "/there", "hub": "other", "frames": 8, "frame_size": [64, 48], "gone": 1}
    found = settings_of_run(own, told)
    assert (found.data, found.hub, found.frames, found.frame_size) == (Path("/here"), None, 8, (64, 48))


@given(
    st.lists(st.text(max_size=3000) | st.text("é模", min_size=900, max_size=2000), max_size=8), st.integers(0, 20_000)
)
def test_texts_are_cut_no_more_than_their_room_asks(texts: list[str], room: int) -> None:
    limit = longest_text(texts, room)
    sizes = [len(text.encode("utf-8", "replace")) for text in texts]
    kept = sum(min(size, limit) for size in sizes)
    longest = max(sizes, default=0)
    assert kept <= room or limit == LEAST or (limit == longest and sum(sizes) <= room)
    if limit not in (LEAST, longest):
        assert sum(min(size, limit + 1) for size in sizes) + len(sizes) > room


@given(st.text(), st.integers(LEAST, 1000))
def test_a_short_text_stays_as_it_is(text: str, limit: int) -> None:
    if len(text.encode("utf-8", "replace")) <= limit:
        assert shortened(text, limit) == text


@given(st.text("ab é模\n", min_size=500, max_size=3000), st.integers(LEAST, 450))
def test_a_cut_text_keeps_its_beginning_and_its_end(text: str, limit: int) -> None:
    cut = shortened(text, limit)
    head, mark, tail = cut.partition(CUT)
    assert mark == CUT
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(tail) >= len(head) > 0
    assert len(cut) < len(text) + len(CUT)


def test_texts_that_are_cut_are_said_to_be(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spotdiff.runs.page.browser.ROOM", 1)
    data = browser_data(report, Sources())
    assert data["limit"] == LEAST
    assert max(len(text.encode("utf-8", "replace")) for text in data["texts"]) < LEAST + 10
    assert "bytes are cut in their middle" in page(report)


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_a_library_that_is_missing_is_named_with_its_remedy(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(SettingError, match=rf"{library}.*pip install 'spotdiff\[report\]'"):
        write_page(report, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_report_without_those_libraries_has_all_but_the_page_and_no_page_of_an_earlier_one(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert any("\ud83d" in (answer.reply or "") for answer in report.answers)
    write_report(report, tmp_path)
    stored = pyarrow.parquet.read_table(tmp_path / "answers.parquet")["reply"].to_pylist()
    assert any("\\ud83d" in (reply or "") for reply in stored)
    assert (tmp_path / "report.html").is_file()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_report(report, tmp_path)
    assert not (tmp_path / "report.html").exists()
    assert (tmp_path / "report.md").is_file()
    assert "no report.html: it needs matplotlib" in capsys.readouterr().err


def test_the_command_writes_pictures_where_they_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(write_run(tmp_path, "run", ["egoexo_next_mini_ego"], right))
    out = tmp_path / "out"
    for wrong in ("-1", "nan", "inf"):
        assert main(["report", run, "--out", str(out), "--thumbnails", wrong]) == 2
        assert "--thumbnails takes a number of megabytes" in capsys.readouterr().err
    assert main(["report", run, "--thumbnails", "1"]) == 2
    assert "add --out DIR" in capsys.readouterr().err
    assert main(["report", run, "--out", str(out), "--thumbnails", "1"]) == 0
    text = (out / "report.html").read_text(encoding="utf-8")
    assert '<script type="application/json" id="pictures">["/9j/' in text
    assert main(["report", run, "--out", str(out)]) == 0
    assert 'id="pictures"' not in (out / "report.html").read_text(encoding="utf-8")
