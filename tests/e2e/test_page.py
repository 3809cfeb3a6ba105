"""A report's page in a real browser: no error, no network, filters that count right, keys, hostile replies as text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from chromium import chromium, lacking, open_report, resize
from mini_runs import HOSTILE, mixed, right, write_run

from spotdiff.runs.build import build
from spotdiff.runs.page import write_page
from spotdiff.runs.report import Answered, Report

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(bool(lacking()), reason=lacking() or "-"),
    pytest.mark.xdist_group("browser"),
]

TASKS = ("m4bench_mini", "egoexo_next_mini", "m3verse_mini", "mvvbench_mini")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("runs")
    write_run(folder, "perfect", [*TASKS, "egoexo_next_mini_shuffled"], right)
    write_run(folder, "of three minds", TASKS, mixed(3))
    write_run(folder, "<b>cut short & more", TASKS[:2], mixed(5), skip=1)
    return build(sorted(folder.iterdir()))


@pytest.fixture(scope="module")
def file(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(report, tmp_path_factory.mktemp("page"), thumbnails=2)


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    with chromium() as driver:
        yield driver


@pytest.fixture
def page(window: Any, file: Path) -> Any:
    resize(window, 1280, 1000)
    window.get_log("browser")
    open_report(window, file)
    return window


SET = """
const form = document.getElementById('filters');
form.reset();
form.family.dispatchEvent(new Event('input', {bubbles: true}));
for (const [name, value] of Object.entries(arguments[0])) {
  const field = form[name];
  const options = field.options ? [...field.options] : [];
  const option = options.find((one) => one.text === value || one.text.endsWith(': ' + value) || one.value === value);
  field.value = option ? option.value : value;
  field.dispatchEvent(new Event('input', {bubbles: true}));
}
return document.getElementById('count').textContent;
"""


def count(page: Any, **filters: str) -> int:
    """How many questions the page counts with these filters, by the texts of their choices."""
    said: str = page.execute_script(SET, filters)
    return int(said.split(" of ")[0].replace(",", ""))


def questions(report: Report, fits: Callable[[list[Answered]], bool]) -> int:
    """How many questions a reader finds who looks at all answers to each."""
    by_question: dict[tuple[str, str], list[Answered]] = {}
    for answer in report.answers:
        by_question.setdefault((answer.family, answer.scored.id), []).append(answer)
    return sum(map(fits, by_question.values()))


def keys(page: Any, *pressed: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(page).send_keys(*pressed).perform()


def heading(page: Any) -> str:
    return str(page.execute_script("return document.querySelector('#detail h3').textContent"))


def test_the_page_loads_from_disk_without_an_error_and_asks_nothing(page: Any, report: Report) -> None:
    assert page.get_log("browser") == []
    assert page.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []
    assert page.title == "Report: " + ", ".join(run.label for run in report.runs)
    assert page.execute_script("return document.querySelector('main').firstElementChild.className") == "warnings"


def test_every_filter_finds_the_questions_that_reading_all_answers_finds(page: Any, report: Report) -> None:
    def values(answer: Answered, key: str) -> tuple[str, ...]:
        value = answer.scored.groups.get(key, ())
        return (value,) if isinstance(value, str) else tuple(value)

    def any_of(fits: Callable[[Answered], bool]) -> Callable[[list[Answered]], bool]:
        return lambda answers: any(map(fits, answers))

    names = [run.label for run in report.runs]
    cases: list[tuple[Mapping[str, str], Callable[[list[Answered]], bool]]] = [
        ({}, lambda answers: True),
        *(
            ({"family": name}, any_of(lambda a, n=name: a.family == n))
            for name in (*TASKS, "egoexo_next_mini_shuffled")
        ),
        *(({"run": name}, any_of(lambda a, n=name: a.run == n)) for name in names),
        *(({"outcome": name}, any_of(lambda a, n=name: a.scored.outcome == n)) for name in ("parsed", "none", "empty")),
        ({"result": "right"}, any_of(lambda a: a.scored.score == 1)),
        ({"result": "partly"}, any_of(lambda a: 0 < a.scored.score < 1)),
        ({"result": "wrong"}, any_of(lambda a: a.scored.score == 0)),
        ({"agreement": "differ"}, lambda answers: len({a.scored.letters for a in answers}) > 1),
        ({"agreement": "same"}, lambda answers: len({a.scored.letters for a in answers}) == 1),
        ({"family": "m3verse_mini", "group": "reasoning"}, any_of(lambda a: "reasoning" in values(a, "capability"))),
        (
            {"run": names[1], "result": "wrong", "outcome": "parsed", "agreement": "differ"},
            lambda answers: (
                len({a.scored.letters for a in answers}) > 1
                and any(a.run == names[1] and a.scored.score == 0 and a.scored.outcome == "parsed" for a in answers)
            ),
        ),
        ({"text": "I CANNOT tell"}, any_of(lambda a: "i cannot tell" in (a.reply or "").lower())),
        ({"text": "</script>"}, any_of(lambda a: "</script>" in (a.reply or ""))),
        ({"text": "no such text anywhere"}, lambda answers: False),
    ]
    wrong = {
        str(filters): (found, wanted)
        for filters, fits in cases
        if (found := count(page, **filters)) != (wanted := questions(report, fits))
    }
    assert wrong == {}


def test_keys_move_through_the_list_reach_the_filters_and_clear_them(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    first = heading(page)
    keys(page, "j")
    second = heading(page)
    keys(page, Keys.ARROW_DOWN, "k")
    assert second != first
    assert heading(page) == second
    keys(page, Keys.HOME)
    assert heading(page) == first
    keys(page, Keys.END, Keys.END)
    last = page.execute_script("return document.querySelector('[aria-selected=true]').getAttribute('aria-posinset')")
    assert last == str(count(page))
    keys(page, "/", "j")
    assert page.switch_to.active_element.get_attribute("name") == "text"
    assert page.switch_to.active_element.get_attribute("value") == "j"
    keys(page, Keys.ESCAPE)
    assert page.switch_to.active_element.get_attribute("id") == "list"
    keys(page, "f")
    assert page.switch_to.active_element.get_attribute("name") == "family"
    keys(page, Keys.ESCAPE, "x", "w")
    said = page.execute_script("const f = document.getElementById('filters'); return [f.text.value, f.result.value]")
    assert said == ["", "wrong"]


def test_the_chosen_question_shows_all_that_is_known_of_it(page: Any, report: Report) -> None:
    wanted = next(a for a in report.answers if a.data == "egoexo_next_mini" and a.scored.outcome == "parsed")
    assert count(page, text=wanted.scored.id, family="egoexo_next_mini") == 1
    shown = page.execute_script("return document.getElementById('detail').innerText")
    for text in (wanted.scored.id, wanted.run, f"rule {wanted.rule}", "outcome parsed", wanted.place.split("/")[-1]):
        assert text in shown
    marked = page.execute_script(
        "return [...document.querySelectorAll('.options .right b')].map((one) => one.textContent)"
    )
    assert marked == list(wanted.scored.gold)
    sizes = page.execute_script("return [...document.querySelectorAll('#detail img')].map((one) => one.naturalWidth)")
    assert len(sizes) >= 4
    assert min(sizes) > 0


@pytest.mark.parametrize("reply", HOSTILE[:3])
def test_hostile_replies_are_shown_as_text(page: Any, report: Report, reply: str) -> None:
    title = page.title
    scripts = page.execute_script("return document.querySelectorAll('script').length")
    answers = [answer for answer in report.answers if answer.reply == reply]
    assert answers
    for answer in answers[:3]:
        assert count(page, text=answer.scored.id, family=answer.family) >= 1
        texts = page.execute_script("return [...document.querySelectorAll('#detail .reply')].map((e) => e.textContent)")
        assert reply in texts
        assert page.execute_script("return document.querySelectorAll('#detail script, #detail .reply *').length") == 0
    assert page.title == title
    assert page.execute_script("return document.querySelectorAll('script').length") == scripts
    assert page.get_log("browser") == []


def test_a_long_reply_is_folded_and_opens(page: Any) -> None:
    assert count(page, text="again and again again") >= 1
    length = "return Math.max(...[...document.querySelectorAll('#detail .reply')].map((one) => one.textContent.length))"
    folded = page.execute_script(length)
    page.execute_script("document.querySelector('#detail .card button').click()")
    assert folded < 1000
    assert page.execute_script(length) == len(HOSTILE[-1])


OVERLAPS = """
// Boxes of siblings that share more than a pixel in both directions, and boxes that leave the window.
const visible = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== 'hidden';
const name = (e) => e.tagName + '#' + e.id + '.' + (e.getAttribute('class') || '') + ' ' + e.textContent.slice(0, 30);
const inside = (e) => e.closest('svg, .scroll, #list');
const found = [];
for (const e of document.querySelectorAll('body *')) {
  if (inside(e) || !visible(e)) continue;
  const box = e.getBoundingClientRect();
  if (box.left < -1 || box.right > innerWidth + 1) found.push('outside: ' + name(e));
  if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'visible' && e.clientWidth) {
    found.push('wider than its box: ' + name(e));
  }
}
for (const parent of document.querySelectorAll('body *')) {
  if (parent.closest('svg')) continue;
  const boxes = [...parent.children].filter(visible).map((e) => [e, e.getBoundingClientRect()]);
  boxes.forEach(([first, a], number) => boxes.slice(number + 1).forEach(([second, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 1) found.push(name(first) + ' overlaps ' + name(second));
  }));
}
return [found, document.documentElement.scrollWidth - document.documentElement.clientWidth];
"""

TEXTS_OF_PLOTS = """
// Texts of one plot that lie on each other.
const found = [];
for (const plot of document.querySelectorAll('.plot svg')) {
  const texts = [...plot.querySelectorAll('text')].filter((e) => e.textContent.trim() && !/rotate\\((?!-?0[ .])/.test(
    (e.getAttribute('transform') || '') + (e.parentNode.getAttribute('transform') || '')));
  const boxes = texts.map((e) => [e.textContent, e.getBoundingClientRect()]);
  boxes.forEach(([first, a], number) => boxes.slice(number + 1).forEach(([second, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 2 && high > 3) found.push(first + ' | ' + second);
  }));
}
return found;
"""


@pytest.mark.parametrize(("width", "scheme"), [*itertools.product((1280, 800), ("light", "dark")), (420, "light")])
def test_nothing_overlaps_or_leaves_the_window(page: Any, width: int, scheme: str) -> None:
    resize(page, width, 1000, scheme)
    count(page, family="egoexo_next_mini")
    assert page.execute_script(OVERLAPS) == [[], 0]
    assert page.execute_script(TEXTS_OF_PLOTS) == []


def test_text_can_be_read_in_both_schemes(page: Any) -> None:
    """WCAG AA: a contrast of 4.5 between the page's texts and their paper."""
    pairs = [("--ink", "--paper"), ("--faint", "--paper"), ("--faint", "--raised"), ("--accent", "--paper")]
    pairs += [("--right", "--paper"), ("--wrong", "--paper"), ("--alarm", "--alarm-paper"), ("--ink", "--alarm-paper")]
    pairs += [("--right", "--chosen"), ("--wrong", "--chosen"), ("--faint", "--chosen"), ("--right", "--raised")]
    for scheme in ("light", "dark"):
        resize(page, 1280, 1000, scheme)
        script = "const s = getComputedStyle(document.body); return arguments[0].map((n) => s.getPropertyValue(n))"
        names = sorted({name for pair in pairs for name in pair})
        colours = dict(zip(names, page.execute_script(script, names), strict=True))
        for ink, paper in pairs:
            light, dark = sorted((luminance(colours[ink]), luminance(colours[paper])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, ink, paper)


def luminance(colour: str) -> float:
    parts = [int(colour.strip()[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_control_has_a_name_and_the_focus_is_seen(page: Any) -> None:
    nameless = page.execute_script("""
        return [...document.querySelectorAll('select, input, button, [role=listbox], svg[role=img]')].filter((e) =>
          !e.closest('label') && !e.textContent.trim() && !e.getAttribute('aria-label')).length""")
    assert nameless == 0
    from selenium.webdriver.common.keys import Keys

    keys(page, Keys.TAB)
    width = page.execute_script("return getComputedStyle(document.activeElement).outlineWidth")
    assert width == "3px"
