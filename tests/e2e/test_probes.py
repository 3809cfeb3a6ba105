"""Probes in both frameworks: servers that describe what they see, and answer from these words alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import av
import pyarrow.parquet as pq
import pytest
import vlmeval_runs
from PIL import Image
from pixel_eye import CannotTell
from pixel_reader import Reader as PictureReader
from pixel_server import PixelServer
from state_reader import StateReader
from telling_readers import Part, PictureTeller, VideoTeller, letters_told
from video_eye import View, look

from spotdiff.benchmarks.m3verse.mini import FOLDER
from spotdiff.benchmarks.m4bench.boxes import FAMILIES
from spotdiff.probes.store import SUFFIX
from spotdiff.runs.read import read_runs
from spotdiff.scoring import subset_score

pytestmark = pytest.mark.e2e

COMMAND = str(Path(sys.executable).with_name("spotdiff"))
LIMIT = 600
LENGTH = 12
CLIPS = 25
SETTINGS = {"SPOTDIFF_CLIP_LENGTH": str(LENGTH)}


def arguments(url: str, model: str) -> str:
    return f"model_version={model},base_url={url},api_key=none,max_retries=1,timeout=60,num_concurrent=2,chunk=4"


@dataclass
class Watched:
    """A reader that counts, and calls `when` with the count before it answers."""

    inner: Any
    when: Any = lambda number: None
    count: int = 0

    def answer_parts(self, parts: Sequence[Part]) -> str:
        self.count += 1
        self.when(self.count)
        # So that a run that is to be ended does not reach the next chunk.
        time.sleep(0.02)
        reply: str = self.inner.answer_parts(parts)
        return reply


@dataclass(frozen=True)
class Done:
    folder: Path
    environment: Mapping[str, str]
    server: PixelServer


def probe(url: str, folder: Path) -> list[str]:
    models = [
        word
        for role in ("caption", "summary", "answer")
        for word in (f"--{role}-model", "openai", f"--{role}-args", arguments(url, role))
    ]
    return [COMMAND, "probe", "m3verse-oracle", "--data", "m3verse_mini", *models, "--out", str(folder / "out")]


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    """The Text-Oracle, ended with SIGKILL in its first stage and taken up again by the same command."""
    folder = tmp_path_factory.mktemp("oracle")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPOTDIFF_")}
    own = {"SPOTDIFF_PROBES": str(folder / "probes"), "SPOTDIFF_MEDIA_CACHE": str(folder / "cache"), **SETTINGS}
    environment = {**kept, "HF_HUB_OFFLINE": "1", **own}
    reader = Watched(VideoTeller())
    with PixelServer(reader=reader) as server:
        due = threading.Event()
        reader.when = lambda number: due.set() if number == 14 else None
        command = probe(server.url, folder)
        with (folder / "first.log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
            assert due.wait(LIMIT), (folder / "first.log").read_text()[-3000:]
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(LIMIT)
        time.sleep(0.5)
        assert not list((folder / "probes").rglob(f"*{SUFFIX}"))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
        yield Done(folder, own, server)


def captions_asked(server: PixelServer) -> list[tuple[str, ...]]:
    return [request.images for request in server.requests if request.images]


def test_through_captions_summaries_and_answers_every_question_is_right(oracle: Done) -> None:
    (run,) = read_runs(oracle.folder / "out")
    scored = {row.id: row.score for rows in run.scored.values() for row in rows}
    assert len(scored) == 27
    assert set(scored.values()) == {1.0}


def test_a_stage_that_was_killed_is_taken_up_and_asks_finished_chunks_no_second_time(oracle: Done) -> None:
    asked = captions_asked(oracle.server)
    assert len(set(asked)) == CLIPS
    # Of the run that was ended, at most the chunk that was being asked is asked for again.
    again = [images for images in set(asked) if asked.count(images) > 1]
    assert len(again) <= 4
    assert len(asked) == CLIPS + len(again)


def test_only_the_first_stage_shows_pixels_and_no_prompt_names_a_file(oracle: Done) -> None:
    models = [(request.json["model"], bool(request.images)) for request in oracle.server.requests]
    assert set(models) == {("caption", True), ("summary", False), ("answer", False)}
    assert [model for model, _ in models].count("summary") == 8
    assert [model for model, _ in models].count("answer") == 27
    assert not any(word in request.text for request in oracle.server.requests for word in (".mp4", "scene_", "/tmp"))


def test_vlmevalkit_answers_from_the_same_texts(oracle: Done) -> None:
    before = len(oracle.server.requests)
    folder = oracle.folder / "vlmevalkit"
    labels = {f"SPOTDIFF_PROBE_{kind.upper()}": labelled(oracle, kind) for kind in ("captions", "summaries")}
    scored = vlmeval_runs.ask_server(
        oracle.server.url, "M3Verse_Mini_Oracle", folder=folder, settings={**oracle.environment, **labels}
    )
    assert len(scored) == 27
    assert {row.score for row in scored.values()} == {1.0}
    requests = oracle.server.requests
    answered = {request.text.strip() for request in requests[:before] if request.json["model"] == "answer"}
    assert {request.text.strip() for request in requests[before:]} == answered


def labelled(oracle: Done, kind: str) -> str:
    (model,) = (oracle.folder / "probes" / f"m3verse_{kind}").iterdir()
    return model.name


# --- in this process, where a run takes seconds --------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPOTDIFF_PROBES", str(tmp_path / "probes"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "probes"


def evaluated(server: PixelServer, task: str) -> Any:
    """Results of a task or group, with samples, as lmms-eval returns them."""
    from lmms_eval.evaluator import simple_evaluate

    told = arguments(server.url, "reader").removesuffix(",chunk=4")
    return simple_evaluate(model="openai", model_args=told, tasks=[task], log_samples=True)


def scores(results: Any) -> dict[str, float]:
    samples = [sample for entries in results["samples"].values() for sample in entries]
    return {sample["acc"]["id"]: sample["acc"]["score"] for sample in samples}


def without_one_text(source: Path, target: Path, part: str, about: str) -> None:
    """A copy of a store of texts without one of them."""
    shutil.copytree(source, target)
    left = 0
    for file in target.rglob(f"*{SUFFIX}"):
        lines = file.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if not _is_of(json.loads(line), part, about)]
        left += len(lines) - len(kept)
        file.write_bytes(b"".join(kept))
    assert left == 1


def _is_of(line: Mapping[str, Any], part: str, about: str) -> bool:
    return str(line.get("part", "")).startswith(f"{part},") and line.get("about") == about


@cache
def views(path: str) -> tuple[View | None, ...]:
    with av.open(str(FOLDER / path)) as container:
        frames = [frame.to_image() for frame in container.decode(video=0)]
    return tuple(look(frame.resize((448, 448), Image.Resampling.BICUBIC)) for frame in frames)


def right_without(row: Mapping[str, Any], path: str, first: int, last: int) -> bool:
    """Whether the question is answered right from all frames but these of one video."""
    seen = []
    for column in ("video_before", "video_after"):
        gone = range(first, last + 1) if row[column] == path else ()
        seen.append([view for place, view in enumerate(views(row[column])) if place not in gone and view])
    options = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCDE", row["options"], strict=False))
    try:
        letters = letters_told(seen, f"Question: {row['question']}\nOptions:\n{options}")
    except CannotTell:
        return False
    return subset_score(letters, row["answer"]) == 1


@pytest.mark.parametrize("scene", ["scene_01/state_0", "scene_03/state_1"])
def test_without_the_caption_of_one_clip_just_the_questions_that_need_it_fail(
    scene: str, oracle: Done, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"videos/{scene}.mp4"
    without_one_text(oracle.folder / "probes", store, "frames 0-11", path)
    monkeypatch.setenv("SPOTDIFF_CLIP_LENGTH", str(LENGTH))
    monkeypatch.setenv("SPOTDIFF_PROBE_PARTIAL", "1")
    results = evaluated(oracle.server, "m3verse_mini_oracle_raw")
    found = scores(results)
    rows = pq.read_table(FOLDER / "mini" / "test.parquet").to_pylist()
    need_it = {f"mini/{row['id']}" for row in rows if not right_without(row, path, 0, 11)}
    assert 3 <= len(need_it) <= 4
    assert {name for name, score in found.items() if score < 1} == need_it
    of_scene = sum(path in (row["video_before"], row["video_after"]) for row in rows)
    assert results["results"]["m3verse_mini_oracle_raw"]["coverage,none"] == pytest.approx(1 - of_scene / 27)


class PictureAnswers:
    def __init__(self) -> None:
        self._reader = PictureReader(FAMILIES["qwen3_vl"])

    def answer_parts(self, parts: Sequence[Part]) -> str:
        text = "\n".join(part for part in parts if isinstance(part, str))
        return self._reader.answer(text, [part for part in parts if not isinstance(part, str)])


@pytest.mark.usefixtures("store")
def test_m4bench_is_answered_from_captions_that_were_asked_once_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_BOX_FAMILY", "qwen3_vl")
    reader = PictureTeller(PictureAnswers(), lambda text: "dense caption" in text)
    with PixelServer(reader=reader) as server:
        evaluated(server, "m4bench_mini_captions")
        described = [request.images for request in server.requests]
        assert len(set(described)) == len(described) == 80
        found = scores(evaluated(server, "m4bench_mini_captioned"))
        assert {request.images for request in server.requests[80:]} == {()}
    assert len(found) == 56
    assert set(found.values()) == {1.0}


@pytest.mark.usefixtures("store")
def test_egoexo_next_is_answered_from_the_captions_that_follow_its_options() -> None:
    reader = PictureTeller(StateReader(), lambda text: "Write a caption" in text)
    with PixelServer(reader=reader) as server:
        evaluated(server, "egoexo_next_mini_captions")
        described = [request.images for request in server.requests]
        assert len(set(described)) == len(described)
        found = scores(evaluated(server, "egoexo_next_mini_captioned"))
        assert {len(request.images) for request in server.requests[len(described) :]} == {5, 8}
    assert len(found) == 40
    assert set(found.values()) == {1.0}
