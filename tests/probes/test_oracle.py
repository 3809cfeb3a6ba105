"""Text-Oracle of M3-Verse: its prompts, what each stage asks, and what becomes of texts that are missing or stale."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from told_texts import LABEL, items, tell

from spotdiff.benchmarks.m3verse import oracle
from spotdiff.benchmarks.m3verse.mini import FOLDER
from spotdiff.errors import DataError, SettingError
from spotdiff.evaluation import Evaluation
from spotdiff.probes.stages import Stage, stages
from spotdiff.probes.store import EMPTY, FAILED, REFUSED, StoredText, Writer
from spotdiff.question import Text, Video
from spotdiff.reporting import notes
from spotdiff.tasks import tasks

CAPTIONS, SUMMARIES = (f"m3verse_mini_oracle_{kind}" for kind in ("captions", "summaries"))

FIGURE_19 = """This is a video clip segment from a video.
Total video duration: {total length of the video}
This video clip segment duration time: {timestamps}
Please describe the video content in detail.
Focus on the environment spatial layout, objects, including their spatial layout, detailed information, and the flow of
the video.
Please describe in clear and concise language."""
FIGURE_20 = """Please synthesize the following descriptions of different segments of a video into a single, coherent,
and detailed overall caption for the entire video.
Segment Descriptions:
{captions for all the clips that make up this complete video}
Focus on the environment spatial layout, objects, including their spatial layout, detailed information, and the flow of
the video.
Please describe in clear and concise language."""
FIGURE_21 = """Based on the following context information, answer the question:
Context: {context}
Question: {question}
Options: {options_text}
Return ONLY the option letter(s) (e.g., "A", "B", "C"). For multiple correct options, concatenate the letters (e.g.,
"ABC"). AVOID ANY OTHER OUTPUT CONTENT."""


def words(text: str) -> list[str]:
    return text.split()


def with_values(figure: str, *values: str) -> list[str]:
    """The words of a figure with its marks replaced, in order."""
    found = iter(values)
    return words(re.sub(r"\{[^}]*\}", lambda mark: next(found), figure))


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPOTDIFF_PROBES", str(tmp_path / "probes"))
    monkeypatch.setenv("SPOTDIFF_CLIP_LENGTH", "12")
    return tmp_path / "probes"


def rows(name: str) -> Any:
    return Evaluation.of(tasks()[name]).rows()


def prompts(name: str) -> list[str]:
    evaluation = Evaluation.of(tasks()[name])
    return [evaluation.question(row).prompt for row in evaluation.rows()]


def test_the_caption_prompt_is_that_of_figure_19_with_both_times_filled_in() -> None:
    first = items(CAPTIONS)[0]
    (said,) = (part.text for part in first.parts if isinstance(part, Text))
    assert words(said) == with_values(FIGURE_19, "8.00s", "0.00s - 3.00s")


def test_the_summary_prompt_is_that_of_figure_20_with_all_captions_in_order() -> None:
    tell(CAPTIONS, lambda item: f"caption of {item.wanted.key.part}")
    first = items(SUMMARIES)[0]
    cut = ["[0.00s - 3.00s] caption of frames 0-11", "[3.00s - 6.00s] caption of frames 12-23"]
    cut.append("[6.00s - 8.00s] caption of frames 24-31")
    told = "\n".join(f"{line}, 50 shown, 448x448" for line in cut)
    assert words(first.prompt) == with_values(FIGURE_20, told)
    assert [type(part) for part in first.parts] == [Text]


def test_the_answer_prompt_is_that_of_figure_21_with_both_summaries_first_video_first() -> None:
    tell(CAPTIONS)
    tell(SUMMARIES, lambda item: f"summary of {item.wanted.about}")
    row = rows("m3verse_mini_oracle")[0]
    options = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCDE", row["options"], strict=False))
    context = f"First video (before): summary of {row['video_before']}\nSecond video (after): summary of "
    wanted = with_values(FIGURE_21, context + row["video_after"], row["question"], options)
    assert words(prompts("m3verse_mini_oracle")[0]) == wanted


def test_a_text_that_looks_like_a_mark_of_the_template_is_left_as_it_is() -> None:
    tell(CAPTIONS, lambda item: "{question} {captions} {context} {}")
    assert "{question} {captions} {context} {}" in items(SUMMARIES)[0].prompt
    assert "{question} {captions} {context} {}" in prompts("m3verse_mini_oracle_raw")[0]


def test_a_clip_is_asked_once_however_many_questions_its_video_has() -> None:
    asked = items(CAPTIONS)
    keys = [item.wanted.key for item in asked]
    assert len(set(keys)) == len(keys) == 25
    assert {isinstance(item.parts[0], Video) for item in asked} == {True}
    tell(CAPTIONS)
    assert len(items(SUMMARIES)) == 8


def test_questions_rest_on_texts_alone_and_show_no_video() -> None:
    tell(CAPTIONS)
    tell(SUMMARIES)
    for name in ("m3verse_mini_oracle", "m3verse_mini_oracle_raw"):
        evaluation = Evaluation.of(tasks()[name])
        questions = [evaluation.question(row) for row in evaluation.rows()]
        assert {type(part) for question in questions for part in question.parts} == {Text}
        assert all(question.several for question in questions)


def test_a_stage_without_its_input_says_which_stage_to_run_and_how_many_texts_are_missing() -> None:
    for ask in (lambda: items(SUMMARIES), lambda: rows("m3verse_mini_oracle"), lambda: rows("m3verse_mini_oracle_raw")):
        with pytest.raises(DataError, match=rf"^25 of 25 texts.*lmms_eval_tasks .*--tasks {CAPTIONS}\. To go on"):
            ask()
    tell(CAPTIONS)
    with pytest.raises(DataError, match=rf"^8 of 8 texts.*--tasks {SUMMARIES}\. To go on"):
        rows("m3verse_mini_oracle")


def test_some_missing_captions_are_refused_unless_asked_for_and_are_then_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tell(CAPTIONS, leave_out=(0,))
    with pytest.raises(DataError, match=rf"^1 of 25 texts by {LABEL}"):
        rows("m3verse_mini_oracle_raw")
    monkeypatch.setenv("SPOTDIFF_PROBE_PARTIAL", "1")
    evaluation = Evaluation.of(tasks()["m3verse_mini_oracle_raw"])
    questions = {row["id"]: (row, evaluation.question(row)) for row in evaluation.rows()}
    lacking = {name for name, (row, _) in questions.items() if row["video_before"].startswith("videos/scene_01/")}
    assert {name for name, (_, question) in questions.items() if question.groups["inputs"] == "partial"} == lacking
    scored = [evaluation.answer(question, "A").scored for _, question in questions.values()]
    assert f"Texts: {len(lacking)} of 27 questions" in notes(scored)[0]


def test_a_summary_of_some_captions_makes_its_questions_partial_and_is_made_anew_when_the_rest_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPOTDIFF_PROBE_PARTIAL", "1")
    tell(CAPTIONS, leave_out=(0,))
    tell(SUMMARIES)
    assert [item.missing for item in items(SUMMARIES)] == [1, *[0] * 7]
    evaluation = Evaluation.of(tasks()["m3verse_mini_oracle"])
    partial = {row["scene"] for row in evaluation.rows() if row["texts_missing"]}
    assert len(partial) == 1
    monkeypatch.delenv("SPOTDIFF_PROBE_PARTIAL")
    tell(CAPTIONS)
    assert stages()[SUMMARIES].missing(LABEL) == 1
    with pytest.raises(DataError, match=r"^1 of 8 texts"):
        rows("m3verse_mini_oracle")


def test_of_two_captioning_models_one_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tell(CAPTIONS, lambda item: "first", "one-000001")
    tell(CAPTIONS, lambda item: "second", "two-000002", leave_out=range(3))
    with pytest.raises(
        SettingError, match=r"one-000001 \(25 of 25\), two-000002 \(22 of 25\).*SPOTDIFF_PROBE_CAPTIONS"
    ):
        items(SUMMARIES)
    monkeypatch.setenv("SPOTDIFF_PROBE_CAPTIONS", "one")
    assert "first" in items(SUMMARIES)[0].prompt
    monkeypatch.setenv("SPOTDIFF_PROBE_CAPTIONS", "three")
    with pytest.raises(DataError, match="25 of 25 texts by three"):
        items(SUMMARIES)


def test_texts_of_another_prompt_are_not_used_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tell(CAPTIONS)
    stage = stages()[CAPTIONS]
    changed = Stage(**{**vars(stage), "template": stage.template + " Be brief."})
    monkeypatch.setattr(oracle, "stages", lambda: {**stages(), CAPTIONS: changed})
    assert changed.missing(LABEL) == 25
    with pytest.raises(DataError, match=r"25 of 25 .*25 were made by another wording of the prompt and are not used"):
        items(SUMMARIES)


def test_texts_of_another_model_or_cutting_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    tell(CAPTIONS)
    stage = stages()[CAPTIONS]
    assert stage.missing(LABEL) == 0
    assert stage.missing("other-000002") == 25
    monkeypatch.setenv("SPOTDIFF_CLIP_LENGTH", "100")
    assert stage.missing(LABEL) == 8
    monkeypatch.setenv("SPOTDIFF_CLIP_LENGTH", "12")
    monkeypatch.setenv("SPOTDIFF_CLIP_FRAMES", "5")
    assert stage.missing(LABEL) == 25


def test_texts_of_another_revision_of_the_data_are_not_used_and_named(store: Path) -> None:
    stage = stages()[CAPTIONS]
    writer = Writer(store, stage.kind, LABEL, {})
    for item in items(CAPTIONS):
        key = item.wanted.key
        old = StoredText(
            type(key)(**{**vars(key), "media": "0" * 64}), LABEL, "old", about=item.wanted.about, data="fed0"
        )
        writer.add(old)
    with pytest.raises(DataError, match=r"25 of 25 .*of another revision of the data \(fed0\), whose media differ"):
        rows("m3verse_mini_oracle_raw")


def test_empty_and_refused_captions_are_kept_as_such_and_failed_ones_are_missing() -> None:
    tell(CAPTIONS, lambda item: "", outcome=EMPTY)
    assert stages()[CAPTIONS].missing(LABEL) == 0
    assert "[0.00s - 3.00s] \n" in prompts("m3verse_mini_oracle_raw")[0]
    tell(CAPTIONS, lambda item: "I cannot help with that.", outcome=REFUSED)
    assert "[0.00s - 3.00s] I cannot help with that." in prompts("m3verse_mini_oracle_raw")[0]
    tell(CAPTIONS, lambda item: "", "other-000002", outcome=FAILED, failure="time-out")
    assert stages()[CAPTIONS].missing("other-000002") == 25


def test_a_missing_video_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(oracle, "locate", lambda data, settings: tmp_path)
    with pytest.raises(DataError, match=r"scene_01/state_0\.mp4: there is no such video"):
        items(CAPTIONS)


def test_where_videos_may_be_missing_the_same_questions_are_left_out_as_with_videos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FOLDER, tmp_path / "mini")
    (tmp_path / "mini/videos/scene_02/state_1.mp4").unlink()
    for module in ("spotdiff.evaluation", "spotdiff.benchmarks.m3verse.oracle"):
        monkeypatch.setattr(f"{module}.locate", lambda data, settings: tmp_path / "mini")
    monkeypatch.setenv("SPOTDIFF_ALLOW_MISSING", "1")
    assert len({item.wanted.about for item in items(CAPTIONS)}) == 6
    tell(CAPTIONS)
    assert len(rows("m3verse_mini_oracle_raw")) == len(rows("m3verse_mini")) == 21
