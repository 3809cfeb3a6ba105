"""Plots of a report: which there are, what they show, and that names do them no harm."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from written_logs import m3verse, write_lmms_eval

from spotdiff.runs.build import build
from spotdiff.runs.page.answers import spearman
from spotdiff.runs.page.bars import bars, heat_map
from spotdiff.runs.page.curves import by_frames, by_future
from spotdiff.runs.page.drawing import COLOURS, Mark, Plot, marks
from spotdiff.runs.page.plots import plots
from spotdiff.runs.report import FULL, Answered, Cell, Figures, Line, Report, RunFacts
from spotdiff.scoring import Scored

SVG = "{http://www.w3.org/2000/svg}"
SPACE = '<svg xmlns="http://www.w3.org/2000/svg" '

RANKED = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12)


def drawn(plot: Plot) -> ElementTree.Element:
    """The plot as a tree; its namespace goes without saying in a page."""
    return ElementTree.fromstring(plot.svg.replace("<svg ", SPACE, 1))


def texts(plot: Plot) -> list[str]:
    return ["".join(entry.itertext()).strip() for entry in drawn(plot).iter(f"{SVG}text")]


def scored(name: str, letter: str, gold: str = "A", **groups: str) -> Scored:
    return Scored(
        id=name,
        score=float(letter == gold),
        chance=0.25,
        letters=(letter,),
        gold=(gold,),
        outcome="parsed",
        cluster=name,
        options=4,
        groups={"setting": "sim", **groups},
    )


def answered(run: str, row: Scored, *, benchmark: str = "m3verse", variant: str = FULL) -> Answered:
    names = {"benchmark": benchmark, "data": benchmark, "family": benchmark, "task": benchmark}
    return Answered(
        run=run,
        model=run,
        framework="lmms-eval",
        **names,
        variant=variant,
        version=1,
        scored=row,
        rule="bare",
        conflict=False,
        reply=None,
        prompt=None,
        place="log, line 1",
    )


def report_of(*answers: Answered, figures: tuple[Figures, ...] = (), **facts: object) -> Report:
    names = dict.fromkeys(answer.run for answer in answers)
    runs = tuple(RunFacts(name, name, "lmms-eval", (), {}, {}, **facts) for name in names)  # type: ignore[arg-type]
    return Report(runs, answers, figures, (), ())


def table(lines: dict[str, dict[str, float]], columns: tuple[str, ...], benchmark: str = "m3verse") -> Figures:
    made = tuple(
        Line(
            name, "run", {column: Cell(value, value - 0.1, value + 0.1) for column, value in cells.items()}, name, FULL
        )
        for name, cells in lines.items()
    )
    return Figures(f"{benchmark}_table", "A table", benchmark, benchmark, columns, made)


LOOKS = {("model", FULL): Mark("#0072b2", "", "o"), ("other", FULL): Mark("#e69f00", "///", "s")}


@given(RANKED)
def test_the_rank_correlation_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    found = spearman(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)


def test_bars_are_as_high_as_the_figures() -> None:
    wanted = {"S.U.": 0.2, "T.U.": 0.4, "Rs": 0.85}
    (plot,) = bars(table({"model": wanted}, tuple(wanted)), LOOKS)
    heights = []
    for path in drawn(plot).iter(f"{SVG}path"):
        if "fill: #0072b2" in path.get("style", "") and path.get("clip-path"):
            ends = [float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", path.get("d", ""))]
            heights.append(max(ends) - min(ends))
    assert [height / heights[0] for height in heights] == pytest.approx([1, 2, 4.25], rel=1e-3)


def test_a_plot_says_what_it_shows_in_words_and_names_axes_and_runs() -> None:
    (plot,) = bars(table({"model": {"S.U.": 0.2}, "other": {"S.U.": 0.625}}, ("S.U.",)), LOOKS)
    assert "model: S.U. 20.0 %; other: S.U. 62.5 %" in plot.alt
    tree = drawn(plot)
    assert tree.get("role") == "img"
    labels = (tree.get("aria-labelledby") or "").split()
    assert {entry.get("id") for entry in (tree.find(f"{SVG}title"), tree.find(f"{SVG}desc")) if entry is not None} == {
        *labels
    }
    assert {"model", "other", "accuracy in %", "S.U."} <= set(texts(plot))


def test_ids_of_plots_do_not_meet_in_a_page() -> None:
    both = [bars(table({"model": {"S.U.": 0.2}}, ("S.U.",), name), LOOKS)[0] for name in ("m3verse", "mvvbench")]
    ids = [{entry.get("id") for entry in drawn(plot).iter() if entry.get("id")} for plot in both]
    assert ids[0].isdisjoint(ids[1])
    for plot, own in zip(both, ids, strict=True):
        used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', plot.svg))
        assert used
        assert used <= own


@pytest.mark.parametrize(
    "name", ["$x_{1", "_hidden", "<b>&amp;</b>", "\ud83d broken \x00", "a\nb", "模型", "x" * 300, ""]
)
def test_names_of_runs_are_drawn_as_text_whatever_they_hold(name: str) -> None:
    rows = [answered(name, scored(f"q{number}", "B", part)) for number, part in enumerate("ABCD")]
    report = report_of(*rows, figures=(table({name: {"overall": 0.5}}, ("overall",)),))
    for plot in plots(report):
        found = texts(plot)
        beginning = "".join(sign for sign in name.split("\n")[0] if sign.isprintable()).strip()[:20]
        assert any(beginning in text for text in found)
        # Text in the page's font, not outlines; nothing from elsewhere.
        assert not re.search(r"(?:href|src)=\"(?!#)", plot.svg)
        assert "<style" not in plot.svg


def test_runs_and_variants_look_different() -> None:
    rows = [answered(f"run {number}", scored("q", "A")) for number in range(10)]
    rows += [answered("run 0", scored("q", "A"), variant=name) for name in ("blind", "swapped", "shuffled")]
    found = marks(report_of(*rows))
    assert len(found) == 13
    assert len({(mark.colour, mark.hatch) for mark in found.values()}) == 13
    own = [mark for (run, _), mark in found.items() if run == "run 0"]
    assert {mark.colour for mark in own} == {COLOURS[0]}
    assert len({mark.hatch for mark in own}) == len({mark.marker for mark in own}) == 4
    # In grey, the first runs are told by their hatch.
    assert len({found[f"run {number}", FULL].hatch for number in range(6)}) == 6


def test_frames_are_drawn_where_a_model_was_asked_with_several_numbers() -> None:
    rows = [answered("model", scored("q", "A"), variant=name) for name in (FULL, "60frame", "200frame")]
    lines = [Line("model", "run", {"overall": Cell(0.5)}, "model", answer.variant) for answer in rows]
    figures = Figures("t", "T", "m3verse", "m3verse", ("overall",), tuple(lines))
    report = report_of(*rows, figures=(figures,))
    (plot,) = by_frames(report, marks(report))
    assert {"60", "200"} <= set(texts(plot))
    assert "60 frames 50.0 %, 200 frames 50.0 %" in plot.alt
    one = report_of(*rows[:2], figures=(figures,))
    assert by_frames(report_of(*rows[:2], figures=(Figures(*_but(figures, lines[:2])),)), marks(one)) == []


def _but(figures: Figures, lines: list[Line]) -> tuple[object, ...]:
    return (figures.name, figures.title, figures.benchmark, figures.data, figures.columns, tuple(lines))


def test_frames_are_also_those_of_the_settings_of_a_run() -> None:
    row = answered("model", scored("q", "A"))
    figures = table({"model": {"overall": 0.5}}, ("overall",))
    told = {"tasks": {"m3verse": {"settings": {"frames": 32}}}}
    from spotdiff.runs.page.curves import frames_of

    report = report_of(row, figures=(figures,), provenance=(told,))
    assert frames_of(report, "m3verse", figures.lines[0]) == 32
    assert frames_of(report_of(row, figures=(figures,)), "m3verse", figures.lines[0]) is None


def test_future_candidates_have_a_panel_for_each_subtask() -> None:
    columns = tuple(f"{panel}, {number}" for panel in ("S1", "S3", "all") for number in "1234")
    figures = table({"model": dict.fromkeys(columns, 0.4)}, columns, "egoexo_next")
    (plot,) = by_future(figures, LOOKS)
    assert [text for text in texts(plot) if text in ("S1", "S3", "all")] == ["S1", "S3", "all"]
    assert by_future(table({"model": {"S1 indoor": 0.4}}, ("S1 indoor",), "egoexo_next"), LOOKS) == []


def test_a_heat_map_writes_every_figure_into_its_field() -> None:
    cells = {"S1 indoor": 0.123, "S1 outdoor": 0.987}
    (plot,) = heat_map(table({"model": cells, "other": {"S1 indoor": 0.5}}, tuple(cells), "egoexo_next"))
    assert {"12.3", "98.7", "50.0"} <= set(texts(plot))


def test_sim_against_real_needs_two_runs_that_were_asked_both(tmp_path: Path) -> None:
    def run(name: str, rights: int, parts: tuple[str, ...] = ("sim", "real")) -> Path:
        rows = [m3verse(number, right=number < rights, part=part) for part in parts for number in range(4)]
        return write_lmms_eval(tmp_path / name, rows, model=name)

    one, other, sim_only = run("one", 1), run("other", 3), run("simulated", 2, ("sim",))
    assert not any(plot.name == "sim-real" for plot in plots(build([one, sim_only])))
    (plot,) = (plot for plot in plots(build([one, other, sim_only])) if plot.name == "sim-real")
    assert "one: Sim 25.0 %, Real 25.0 %; other: Sim 75.0 %, Real 75.0 %" in plot.alt
    assert "simulated" not in plot.alt


def test_slot_bias_is_what_was_chosen_less_what_is_right() -> None:
    rows = [answered("model", scored(f"q{number}", "B", gold)) for number, gold in enumerate("AABC")]
    (plot,) = (plot for plot in plots(report_of(*rows)) if plot.name.startswith("slots"))
    assert "A -50.0 points, B 75.0 points, C -25.0 points" in plot.alt


def test_a_report_without_answers_that_were_read_has_no_plot_of_letters() -> None:
    unread = replace(scored("q", "B"), letters=(), outcome="none")
    assert plots(report_of(answered("model", unread))) == []
