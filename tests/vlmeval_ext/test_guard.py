"""Runs of our data sets inside the real VLMEvalKit, in this process, by models that fail in every way."""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

import _spotdiff_hook
from spotdiff.errors import SettingError
from spotdiff.failures import VLMEVALKIT_MARK, failure_of
from vlmeval_ext.guard import Guarded, failed_reply
from vlmeval_ext.predictions import read_rows
from vlmeval_ext.prompt import Prompt

pytest.importorskip("vlmeval")
pytestmark = [pytest.mark.framework, pytest.mark.xdist_group("vlmeval")]

DATA = "M4Bench_Mini_State_Invariance"

LIMIT = 120
"""Seconds after which a run counts as hanging."""

Say = Callable[[str], Any]
"""Id of a question -> its reply, or an error."""


class Local:
    """Not asked over the net. asked: how often each question was."""

    is_api = False

    def __init__(self, say: Say) -> None:
        self._say = say
        self.asked: Counter[str] = Counter()

    def set_dump_image(self, dump_image: Any) -> None:
        pass

    def generate(self, message: Sequence[Mapping[str, Any]], dataset: str | None = None) -> Any:
        (asked,) = (part["value"].question.id for part in message if isinstance(part["value"], Prompt))
        self.asked[asked] += 1
        said = self._say(asked)
        if isinstance(said, Exception):
            raise said
        return said


class Remote(Local):
    is_api = True


@pytest.fixture(scope="module")
def framework() -> Any:
    _spotdiff_hook.arm()
    import vlmeval.run

    return vlmeval.run


@pytest.fixture(autouse=True)
def quiet_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setenv("PRED_FORMAT", "tsv")
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))


Ask = Callable[..., dict[str, str]]


def in_local_mode(framework: Any, model: Any, folder: Path) -> dict[str, str]:
    """Ask all questions, store the replies; returns them by index."""
    data = framework.build_dataset(DATA, model=["m"])
    framework.infer_data_job(model, work_dir=str(folder), model_name="m", dataset=data, api_nproc=2)
    return dict(read_rows(folder / f"m_{DATA}.tsv"))


def in_api_mode(framework: Any, model: Any, folder: Path) -> dict[str, str]:
    from vlmeval import inference_api

    file = folder / f"m_{DATA}.tsv"
    config = inference_api.DatasetConfig(
        dataset_name=DATA,
        dataset_obj=framework.build_dataset(DATA, model=["m"]),
        model_name="m",
        model_obj=model,
        work_dir=str(folder),
        result_file=str(file),
        judge_kwargs={},
    )

    async def run() -> None:
        pipeline = inference_api.APIEvalPipeline([config], concurrency=2, debug=True)
        await asyncio.wait_for(pipeline.run(), LIMIT)

    asyncio.run(run())
    return dict(read_rows(file)) if file.exists() else {}


MODES = pytest.mark.parametrize(
    ("ask", "kind"),
    [
        pytest.param(in_local_mode, Local, id="local"),
        pytest.param(in_local_mode, Remote, id="remote"),
        pytest.param(in_api_mode, Remote, id="api_mode"),
    ],
)


def id_of(index: str) -> str:
    return index.partition("@")[0]


def folder_of(tmp_path: Path) -> Path:
    folder = tmp_path / "m"
    folder.mkdir()
    return folder


@MODES
@pytest.mark.parametrize("bad", [AssertionError("no such file"), None, "", f"{VLMEVALKIT_MARK} "])
def test_one_question_that_fails_ends_nothing_and_is_asked_again_alone(
    framework: Any, tmp_path: Path, ask: Ask, kind: type[Local], bad: Any
) -> None:
    folder, seen = folder_of(tmp_path), []

    def say(asked: str) -> Any:
        seen.append(asked)
        return bad if asked == seen[0] else "A"

    replies = ask(framework, kind(say), folder)
    failed = [index for index, reply in replies.items() if failure_of(reply)]
    assert [id_of(index) for index in failed] == seen[:1]
    assert VLMEVALKIT_MARK in replies[failed[0]]
    again = kind(lambda asked: "B")
    assert ask(framework, again, folder) == {**replies, failed[0]: "B"}
    assert again.asked == {id_of(failed[0]): 1}


@MODES
def test_replies_are_stored_and_taken_up_as_they_were_given(
    framework: Any, tmp_path: Path, ask: Ask, kind: type[Local]
) -> None:
    """VLMEvalKit's own reader takes some of them for missing, and stores `nan` in their place."""
    folder = folder_of(tmp_path)
    awkward = ["NA", "None", "null", "=B", "1.0", " A\n\tB ", "nan", '"']
    given: dict[str, str] = {}
    replies = ask(framework, kind(lambda asked: given.setdefault(asked, awkward[len(given)])), folder)
    assert sorted(replies.values()) == sorted(awkward)
    again = kind(lambda asked: "B")
    assert ask(framework, again, folder) == replies
    assert not again.asked


def checkpoint_of(folder: Path, ask: Ask, kind: type[Local]) -> Path:
    """Where the replies of a run lie that has not ended."""
    return folder / (f"01_{DATA}.pkl" if kind is Local else f"m_{DATA}_checkpoint.pkl")


def indices(framework: Any) -> list[str]:
    return list(framework.build_dataset(DATA, model=["m"]).data["index"])


@MODES
def test_a_checkpoint_that_was_cut_is_set_aside_and_a_whole_one_is_used(
    framework: Any, tmp_path: Path, ask: Ask, kind: type[Local], capsys: pytest.CaptureFixture[str]
) -> None:
    known = dict.fromkeys(indices(framework)[:3], "B")
    whole = pickle.dumps(known)
    for number, end in enumerate([0, 1, len(whole) // 2, len(whole) - 1, len(whole)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = checkpoint_of(folder, ask, kind)
        file.write_bytes(whole[:end])
        model = kind(lambda asked: "A")
        replies = ask(framework, model, folder)
        said = capsys.readouterr().err
        broken = list(folder.glob("*.broken-*"))
        if end < len(whole):
            assert set(replies.values()) == {"A"}
            assert [one.read_bytes() for one in broken] == [whole[:end]]
            assert f"{file} is broken" in said
            assert broken[0].name in said
        else:
            assert Counter(replies.values()) == {"B": 3, "A": len(replies) - 3}
            assert not broken
            assert not {id_of(index) for index in known} & set(model.asked)


@MODES
def test_replies_to_other_questions_in_a_checkpoint_are_not_used(
    framework: Any, tmp_path: Path, ask: Ask, kind: type[Local]
) -> None:
    folder, (first, *others) = folder_of(tmp_path), indices(framework)
    stale = {f"{id_of(index)}@0123abcd": "stale" for index in [first, *others]}
    checkpoint_of(folder, ask, kind).write_bytes(pickle.dumps({**stale, first: "B"}))
    replies = ask(framework, kind(lambda asked: "A"), folder)
    assert replies == {first: "B", **dict.fromkeys(others, "A")}


def test_failed_replies_in_the_checkpoint_of_a_local_model_are_asked_for_again(framework: Any, tmp_path: Path) -> None:
    folder, (first, *others) = folder_of(tmp_path), indices(framework)
    known = {first: failed_reply("unknown", "RuntimeError: out of memory"), **dict.fromkeys(others, "B")}
    checkpoint_of(folder, in_local_mode, Local).write_bytes(pickle.dumps(known))
    model = Local(lambda asked: "A")
    assert in_local_mode(framework, model, folder) == {first: "A", **dict.fromkeys(others, "B")}
    assert model.asked == {id_of(first): 1}


def test_a_table_of_replies_that_was_cut_is_set_aside(framework: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    whole = in_local_mode(framework, Local(lambda asked: "A"), folder)
    file = folder / f"m_{DATA}.tsv"
    file.write_bytes(file.read_bytes()[:300])
    model = Local(lambda asked: "A")
    assert in_local_mode(framework, model, folder) == whole
    assert len(model.asked) == len(whole)
    assert len(list(folder.glob("*.tsv.broken-*"))) == 1


class Unstorable:
    def __reduce__(self) -> Any:
        raise OSError("No space left on device")


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(framework: Any, tmp_path: Path) -> None:
    from vlmeval import inference, inference_api
    from vlmeval.utils import mp_util

    file = tmp_path / f"m_{DATA}_checkpoint.pkl"
    for module in (inference, inference_api, mp_util):
        module.dump({"a": "A"}, str(file))
        with pytest.raises(OSError, match="No space left"):
            module.dump({"a": "A" * 1000, "b": Unstorable()}, str(file))
        assert module.load(str(file)) == {"a": "A"}
        assert list(tmp_path.iterdir()) == [file]


def test_files_of_other_data_sets_are_written_as_vlmevalkit_does(framework: Any, tmp_path: Path) -> None:
    from vlmeval import inference

    file = tmp_path / "m_MMBench_checkpoint.pkl"
    file.write_bytes(b"")
    with pytest.raises(EOFError):
        inference.load(str(file))
    assert file.exists()


def test_api_mode_does_not_wait_for_replies_that_never_come(framework: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    assert in_api_mode(framework, Remote(lambda asked: SettingError("not this one")), folder) == {}
    entry = json.loads((folder / "status.json").read_text())["datasets"][DATA]
    assert entry["status"] == "done"
    assert entry["error_message"] == "8 of 8 replies are missing, see the log above"


def test_a_model_that_cannot_be_asked_this_says_so_for_the_whole_data_set(framework: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="not this one"):
        in_local_mode(framework, Local(lambda asked: SettingError("not this one")), folder_of(tmp_path))


def test_questions_of_other_data_sets_reach_the_model_as_they_are() -> None:
    class Broken:
        def generate(self, message: Any, dataset: str | None = None) -> str:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Guarded(Broken()).generate([], "MMBench")


class Theirs:
    """Another's data set of two questions."""

    dataset_name, MODALITY, TYPE = "Theirs", "IMAGE", "VQA"

    def __init__(self) -> None:
        import pandas

        self.data = pandas.DataFrame({"index": [1, 2], "question": ["a", "b"]})

    def __len__(self) -> int:
        return len(self.data)

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        return [{"type": "text", "value": line["question"]}]

    def dump_image(self, line: Any) -> list[str]:
        return []


def test_jobs_of_other_data_sets_get_the_model_itself_before_and_after_ours(framework: Any, tmp_path: Path) -> None:
    from vlmeval import inference

    class Client(Remote):
        def generate_inner(self, *_: Any, **__: Any) -> Any: ...

        def generate(self, message: Any, dataset: str | None = None) -> Any:
            return "A"

    model, models = Client(str), inference.supported_VLM
    folder = folder_of(tmp_path)

    def job(data: Any) -> Any:
        return framework.infer_data_job(model, work_dir=str(folder), model_name="m", dataset=data, api_nproc=1)

    assert job(Theirs()) is model
    assert vars(model).keys() == {"_say", "asked"}
    # What a later job, as for videos, sets on the model must reach it.
    assert job(framework.build_dataset(DATA, model=["m"])) is model
    assert job(Theirs()) is model
    assert inference.supported_VLM is models
    assert type(models) is dict


def response(status: int, body: str) -> requests.Response:
    made = requests.Response()
    made.status_code, made._content = status, body.encode()
    return made


def completion(message: Mapping[str, Any]) -> str:
    return json.dumps({"choices": [{"message": message}]})


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (response(503, "busy"), "server error"),
        (response(429, "slow down"), "rate limit"),
        (response(504, "<html>"), "time-out"),
        (response(401, "who are you"), "request rejected"),
        (response(200, "<html>Sign in"), "bad reply"),
        (response(200, completion({"content": "A"})[:-4]), "bad reply"),
        (response(200, '{"error": "overloaded"}'), "bad reply"),
        (response(200, "[]"), "bad reply"),
        (response(200, completion({"content": ""})), "empty"),
        (response(200, completion({"content": None, "reasoning_content": "A"})), "reasoning only"),
        (requests.exceptions.ReadTimeout("read timed out"), "time-out"),
        (requests.exceptions.ConnectTimeout("connect timed out"), "time-out"),
        (requests.exceptions.ConnectionError("refused"), "no connection"),
        (ValueError("A"), "unknown"),
    ],
)
def test_what_a_server_did_is_told_by_its_class(framework: Any, tmp_path: Path, result: Any, kind: str) -> None:
    from vlmeval.api.base import BaseAPI

    class Client(BaseAPI):  # type: ignore[misc]
        is_api = True

        def generate_inner(self, inputs: Any, **_: Any) -> Any:
            if isinstance(result, Exception):
                raise result
            code = 0 if result.status_code < 300 else result.status_code
            return code, self.fail_msg, result

    data = framework.build_dataset(DATA, model=["m"])
    reply = Guarded(Client(retry=2, wait=0)).generate(data.build_prompt(0), DATA)
    assert failure_of(reply) == kind
    assert reply.startswith(f"{VLMEVALKIT_MARK} [{kind}] ")


def test_a_failed_reply_is_one_line_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "verysecretvalue")
    reply = failed_reply("request rejected", "HTTP 401\nIncorrect API key provided: verysecretvalue " + "x" * 1000)
    assert "verysecretvalue" not in reply
    assert "\n" not in reply
    assert len(reply) < 300
