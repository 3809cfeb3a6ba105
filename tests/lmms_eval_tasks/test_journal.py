"""`spotdiff_journal` around models of lmms-eval, as lmms-eval asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from spotdiff.errors import SettingError
from spotdiff.journal import Journal, JournalError
from spotdiff.journal.lines import read_file

pytestmark = pytest.mark.framework

GREEDY = {"max_new_tokens": 8, "temperature": 0}


def pupil(answer: Callable[[str], Any], simple: bool = False) -> Any:
    """A model that answers each text by `answer`, and notes the chunks that it gets in `chunks`."""
    from lmms_eval.api.model import lmms

    class Pupil(lmms):
        is_simple = simple

        def __init__(self) -> None:
            super().__init__()
            self.chunks: list[list[str]] = []

        def generate_until(self, requests: Sequence[Any]) -> list[Any]:
            self.chunks.append([self._text(request) for request in requests])
            return [answer(text) for text in self.chunks[-1]]

        def _text(self, request: Any) -> str:
            if simple:
                context, generation, _, _, _, _ = request.args
                text = str(context)
            else:
                _, messages_of, generation, document, task, split = request.args
                text = messages_of(self.task_dict[task][split][document])[0]["content"][1]["text"]
            # As models do.
            generation["until"] = ["never"]
            return text

        def loglikelihood(self, requests: Any) -> Any: ...

        def generate_until_multi_round(self, requests: Any) -> Any: ...

    return Pupil()


def messages_of(document: tuple[str, int]) -> list[dict[str, Any]]:
    text, grey = document
    content = [{"type": "image", "url": Image.new("L", (2, 2), grey)}, {"type": "text", "text": text}]
    return [{"role": "user", "content": content}]


def visuals_of(document: tuple[str, int]) -> list[Image.Image]:
    return [Image.new("L", (2, 2), document[1])]


def requests_of(
    documents: Sequence[tuple[str, int]], simple: bool = False, repeats: int = 1, **generation: Any
) -> list[Any]:
    """One for each document (text, grey value of its image), as tasks of chat or simple models make them."""
    from lmms_eval.api.instance import Instance

    found = []
    for number, (text, _) in enumerate(documents):
        own = {**GREEDY, **generation}
        asked = (text, own, visuals_of) if simple else (text, messages_of, own)
        metadata = {"task": "t", "doc_id": number, "repeats": repeats}
        # As the evaluator does: one object, several times.
        found += [Instance("generate_until", (*asked, number, "t", "test"), 0, metadata)] * repeats
    return found


def journaled(folder: Path, model: Any, documents: Sequence[tuple[str, int]], chunk: int = 4, name: str = "m") -> Any:
    from lmms_eval_tasks.models.journal_asking import Asking

    model.task_dict["t"] = {"test": documents}
    return Asking(model, Journal(folder, {}), name, chunk)


def ask(folder: Path, model: Any, documents: Sequence[tuple[str, int]], **options: Any) -> list[Any]:
    requests = requests_of(documents, model.is_simple, options.pop("repeats", 1), **options.pop("generation", {}))
    return list(journaled(folder, model, documents, **options).generate_until(requests))


def stored(folder: Path) -> list[Any]:
    return [reply for file in sorted(folder.iterdir()) for reply in read_file(file).replies]


TEN = [(f"question {number}", number) for number in range(10)]


@pytest.mark.parametrize("simple", [False, True])
def test_replies_come_in_order_chunk_after_chunk_and_a_second_run_asks_nothing(tmp_path: Path, simple: bool) -> None:
    model = pupil(str.upper, simple)
    replies = ask(tmp_path, model, TEN)
    assert replies == [text.upper() for text, _ in TEN]
    assert model.chunks == [[text for text, _ in TEN[start : start + 4]] for start in (0, 4, 8)]
    again = pupil(str.lower, simple)
    assert ask(tmp_path, again, TEN) == replies
    assert again.chunks == []


def test_a_chunk_is_on_disk_before_the_next_one_is_asked(tmp_path: Path) -> None:
    seen = []
    ask(tmp_path, pupil(lambda text: seen.append(len(stored(tmp_path))) or text), TEN)
    assert seen == [0] * 4 + [4] * 4 + [8] * 2


def test_token_counts_come_back_with_a_kept_reply(tmp_path: Path) -> None:
    from lmms_eval.api.instance import GenerationResult, TokenCounts

    counts = TokenCounts(input_tokens=5, output_tokens=0)
    first = ask(tmp_path, pupil(lambda text: GenerationResult(text, counts)), TEN)
    assert ask(tmp_path, pupil(str), TEN) == first


@pytest.mark.parametrize("simple", [False, True])
def test_only_what_changed_is_asked_anew(tmp_path: Path, simple: bool) -> None:
    ask(tmp_path, pupil(str.upper, simple), TEN)

    def asked(documents: Sequence[tuple[str, int]], **options: Any) -> list[str]:
        model = pupil(str.upper, simple)
        ask(tmp_path, model, documents, **options)
        return [text for chunk in model.chunks for text in chunk]

    assert asked([*TEN[:3], ("question 3?", 3), *TEN[4:]]) == ["question 3?"]
    assert asked([*TEN[:3], ("question 3", 33), *TEN[4:]]) == ["question 3"]
    assert asked(TEN[::-1]) == []
    assert len(asked(TEN, generation={"max_new_tokens": 9})) == 10
    assert len(asked(TEN, name="another model")) == 10


def test_failures_are_stored_with_their_class_and_asked_again(tmp_path: Path) -> None:
    failed = "[LMMS_EVAL_REQUEST_FAILED after 2 retries] Error code: 503"
    bad = {"question 1": failed, "question 2": "", "question 3": None}
    replies = ask(tmp_path, pupil(lambda text: bad.get(text, "B")), TEN)
    assert replies[:4] == ["B", failed, "", None]
    assert [reply.failure is not None for reply in stored(tmp_path)] == [text in bad for text, _ in TEN]
    again = pupil(lambda text: "C")
    assert ask(tmp_path, again, TEN) == ["B", "C", "C", "C", *["B"] * 6]
    assert again.chunks == [list(bad)]
    assert ask(tmp_path, pupil(str), TEN) == ["B", "C", "C", "C", *["B"] * 6]


def test_a_failure_that_quotes_a_key_is_stored_without_it_and_an_answer_as_it_is(tmp_path: Path) -> None:
    said = "Incorrect API key provided: sk-0123456789abcdef"
    failed = f"[LMMS_EVAL_REQUEST_FAILED after 2 retries] Error code: 401 - {said}"
    ask(tmp_path, pupil(lambda text: failed if text == "question 0" else said), TEN)
    texts = [reply.text for reply in stored(tmp_path)]
    assert "Error code: 401" in texts[0]
    assert "0123456789abcdef" not in texts[0]
    assert texts[1:] == [said] * 9


def test_a_model_that_breaks_off_ends_the_run_and_loses_its_own_chunk_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(text: str) -> str:
        if text == "question 5":
            raise RuntimeError("api_key=sk-0123456789abcdef is out of memory")
        return text

    with pytest.raises(JournalError, match=r"out of memory.*4 answers are kept.*same command goes on") as caught:
        ask(tmp_path, pupil(answer), TEN)
    assert "0123456789abcdef" not in str(caught.value) + capsys.readouterr().err
    again = pupil(str)
    assert ask(tmp_path, again, TEN) == [text for text, _ in TEN]
    assert sum(map(len, again.chunks)) == 6


def test_a_wrong_number_of_replies_is_an_error(tmp_path: Path) -> None:
    model = pupil(str)
    model.generate_until = lambda requests: ["A"]
    with pytest.raises(JournalError, match="1 replies to 4 questions"):
        ask(tmp_path, model, TEN)


def test_repeats_get_a_reply_each_also_where_the_model_changes_its_arguments(tmp_path: Path) -> None:
    numbers = iter(range(100))
    replies = ask(tmp_path, pupil(lambda text: f"{text}: {next(numbers)}"), TEN[:3], repeats=3)
    assert len(set(replies)) == 9
    again = pupil(lambda text: f"{text}: {next(numbers)}")
    longer = ask(tmp_path, again, TEN[:3], repeats=4)
    assert [reply for number, reply in enumerate(longer) if number % 4 < 3] == replies
    assert again.chunks == [[text for text, _ in TEN[:3]]]
    assert len(set(longer)) == 12


def test_a_message_is_made_once_unless_its_chunk_holds_too_many_pixels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_eval_tasks.models import journal_requests

    made: list[str] = []

    def noted(document: tuple[str, int]) -> list[dict[str, Any]]:
        made.append(document[0])
        return messages_of(document)

    def asked(folder: Path) -> list[str]:
        made.clear()
        model = pupil(str)
        requests = requests_of(TEN[:3])
        for request in requests:
            request.arguments = (request.args[0], noted, *request.args[2:])
        replies = journaled(folder, model, TEN).generate_until(requests)
        assert replies == [text for text, _ in TEN[:3]]
        return sorted(made)

    names = [text for text, _ in TEN[:3]]
    assert asked(tmp_path / "all") == names
    # Images of 2 x 2 pixels, four bytes each: the third is too many.
    monkeypatch.setattr(journal_requests, "HELD", 32)
    assert asked(tmp_path / "two") == [*names, names[2]]


def test_a_model_that_asks_for_a_message_again_gets_it_as_it_was() -> None:
    from lmms_eval_tasks.models.journal_requests import Open, Waiting

    (request,) = requests_of(TEN[:1])
    waiting = Waiting()
    waiting.add(Open(0, "k", request), messages_of(TEN[0]))
    (own,) = waiting.copies(1)
    first = own.args[1](TEN[0])
    first.clear()
    assert own.args[1](TEN[0]) == messages_of(TEN[0])
    assert own.args[1](TEN[0]) == messages_of(TEN[0])


def test_requests_that_pad_a_rank_ask_nobody(tmp_path: Path) -> None:
    model = pupil(str.upper)
    asking = journaled(tmp_path, model, TEN)
    (request,) = requests_of(TEN[:1])
    (padding,) = requests_of(TEN[:1])
    padding.metadata["__padding_only__"] = True
    assert len(asking.generate_until([request, padding])) == 2
    assert model.chunks == [["question 0"]]


def create(folder: Path, arguments: str, force_simple: bool = False) -> Any:
    from lmms_eval.models import get_model

    return get_model("spotdiff_journal", force_simple).create_from_arg_string(
        arguments.format(journal=folder), {"batch_size": 1, "max_batch_size": None, "device": None}
    )


def test_the_created_model_is_the_model_itself_in_its_own_form(tmp_path: Path) -> None:
    simple = create(tmp_path, "model=dummy,journal={journal},response=B")
    assert (type(simple).__name__, simple.is_simple) == ("Dummy", True)
    simple.task_dict["t"] = {"test": TEN}
    assert simple.generate_until(requests_of(TEN, simple=True)) == ["B"] * 10
    assert len(stored(tmp_path)) == 10
    chat = "model=openai,journal={journal},model=reader,api_key=none,chunk=7"
    assert create(tmp_path, chat).is_simple is False
    assert create(tmp_path, chat, force_simple=True).is_simple is True
    assert create(tmp_path, chat).model_version == "reader"


@pytest.mark.parametrize("kind", ["loglikelihood", "generate_until_multi_round"])
def test_what_the_journal_does_not_keep_is_refused(tmp_path: Path, kind: str) -> None:
    model = create(tmp_path, "model=dummy,journal={journal}")
    with pytest.raises(SettingError, match=kind):
        getattr(model, kind)([])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("journal={journal}", "model=NAME,journal=FOLDER"),
        ("model=dummy", "model=NAME,journal=FOLDER"),
        ("model=opena,journal={journal}", "openai"),
        ("model=spotdiff_journal,journal={journal}", "no model that"),
        ("model=dummy,journal={journal},chunk=0", "chunk=0"),
        ("model=dummy,journal={journal}/file", "no reply can be kept"),
    ],
)
def test_arguments_that_cannot_be_used_are_said(tmp_path: Path, arguments: str, said: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError if "file" not in arguments else JournalError, match=said):
        create(tmp_path, arguments)


def test_ranks_that_compute_together_are_refused() -> None:
    from lmms_eval_tasks.models.journal import _check_distribution

    def model(kind: str, ranks: int) -> Any:
        return SimpleNamespace(accelerator=SimpleNamespace(distributed_type=kind, num_processes=ranks))

    with pytest.raises(SettingError, match="FSDP"):
        _check_distribution(model("DistributedType.FSDP", 2))
    _check_distribution(model("DistributedType.FSDP", 1))
    _check_distribution(model("DistributedType.MULTI_GPU", 2))
    _check_distribution(SimpleNamespace())


def test_the_first_model_is_ours_and_a_second_one_its_own() -> None:
    from lmms_eval_tasks.models.journal_arguments import Wrapped

    given = 'model=vllm,journal=runs/j,model=Qwen/Q,chunk=64,limit_mm_per_prompt=\'{"image":2,"video":1}\''
    assert Wrapped.of(given) == Wrapped(
        "vllm", "runs/j", 64, 'model=Qwen/Q,limit_mm_per_prompt=\'{"image":2,"video":1}\''
    )
    assert Wrapped.of("a=1,model=dummy,b=2,journal=j") == Wrapped("dummy", "j", 32, "a=1,b=2")


def test_a_key_knows_what_may_change_an_answer_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_eval_tasks.models.journal_arguments import identity

    before = identity("openai", False, "model_version=m,base_url=http://a/v1,api_key=sk-one-1234567890,timeout=3")
    assert "1234567890" not in before
    same = "timeout=9,base_url=http://a/v1,model_version=m,api_key=sk-two-1234567890,num_concurrent=8,max_retries=1"
    assert identity("openai", False, same) == before
    others = ("model_version=n,base_url=http://a/v1", "model_version=m,base_url=http://b/v1")
    assert all(identity("openai", False, other) != before for other in others)
    assert identity("openai", True, same) != before
    monkeypatch.setenv("LMMS_IMAGE_ENCODE_FORMAT", "JPEG")
    assert identity("openai", False, same) != before


def test_a_key_knows_the_content_of_local_weights_and_files_and_of_arguments_called_tokens(tmp_path: Path) -> None:
    from lmms_eval_tasks.models.journal_arguments import identity

    weights, template = tmp_path / "weights", tmp_path / "chat.jinja"
    weights.mkdir()
    (weights / "config.json").write_text("{}")
    (weights / "model.safetensors").write_bytes(b"12345678")
    template.write_text("a")
    given = f"pretrained={weights},chat_template={template},image_token=<image>"

    def seen(arguments: str = given) -> str:
        return identity("m", False, arguments)

    before = seen()
    assert seen() == before
    assert seen(given.replace("<image>", "<img>")) != before
    (weights / "model.safetensors").write_bytes(b"12345679")
    trained = seen()
    assert trained != before
    template.write_text("b")
    assert seen() not in (before, trained)
    (weights / "config.json").unlink()
    assert seen() == seen(f"image_token=<image>,{given.removesuffix(',image_token=<image>')}")


@pytest.fixture
def manager() -> Iterator[Any]:
    """A manager of our shipped M4Bench tasks alone, made before the model, as lmms-eval does."""
    from lmms_eval.tasks import TaskManager

    import lmms_eval_tasks
    from lmms_eval_tasks.models.journal_word import WORD

    folder = Path(lmms_eval_tasks.__file__).parent / "m4bench" / "mini"
    return TaskManager(include_path=str(folder), include_defaults=False, model_name=WORD)


def test_tasks_know_the_model_behind_the_journal(tmp_path: Path, manager: Any) -> None:
    from lmms_eval_tasks.models.journal_word import WORD, load_tasks_for

    name = "m4bench_mini_spatial_perception"
    for model in ("qwen2_5_vl", "qwen3_vl"):
        load_tasks_for(model)
        loaded = manager.load_task_or_group([name], "chat")[name]
        assert loaded.lmms_eval_specific_kwargs == {"model": model}
    assert manager.model_name == WORD
