"""The judge of unreadable replies, against a real server on this machine."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from spotdiff import judge as module
from spotdiff.answers import Outcome, Reading
from spotdiff.evaluation import Evaluation
from spotdiff.judge import Judge, Verdict
from spotdiff.question import Option, Question, Text
from spotdiff.settings import Settings
from spotdiff.tasks import task

OPTIONS = {"A": "the left one", "B": "the right one", "C": None}
KEY = "sk-very-secret"


@dataclass
class Server:
    """Answers with what `says` returns: (status, body), or None to close the connection without a word."""

    says: Callable[[], tuple[int, bytes] | None]
    url: str = ""
    reason: str | None = None
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def chat(content: object) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.01)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(module, "TIMEOUT", 5.0)
    module._ask.cache_clear()
    found = Server(lambda: (200, chat("B")))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.bodies.append(json.loads(body))
            found.headers.append(dict(self.headers))
            found.paths.append(self.path)
            answer = found.says()
            if answer is None:
                return
            self.send_response(answer[0], found.reason)
            self.send_header("Content-Length", str(len(answer[1])))
            self.end_headers()
            self.wfile.write(answer[1])

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    http.shutdown()
    http.server_close()
    thread.join()


def ask(server: Server, reply: str = "It is hard to say, perhaps on the other side") -> Verdict:
    return Judge(server.url, "some-model").verdict(reply, OPTIONS)


# --- verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["B", "B.", " b\n", "(B)", "**B**", "B. the right one"])
def test_a_letter_is_the_verdict(server: Server, said: str) -> None:
    server.says = lambda: (200, chat(said))
    assert ask(server) == Verdict(("B",), said)


@pytest.mark.parametrize("said", ["NONE", "none.", "None", " NONE\n"])
def test_none_is_a_verdict_without_letters_and_no_error(server: Server, said: str) -> None:
    server.says = lambda: (200, chat(said))
    assert ask(server) == Verdict((), said)


@pytest.mark.parametrize("said", ["Z", "A or B", "I cannot tell which.", "A, B"])
def test_words_that_name_no_single_option_give_no_letters(server: Server, said: str) -> None:
    server.says = lambda: (200, chat(said))
    assert ask(server).letters == ()
    assert ask(server).said == said


@pytest.mark.parametrize("path", ["", "/", "/chat/completions", "/chat/completions/"])
def test_the_address_may_be_given_with_or_without_its_end(server: Server, path: str) -> None:
    assert Judge(server.url + path, "m").verdict("hm", OPTIONS).letters == ("B",)
    assert server.paths == ["/v1/chat/completions"]


# --- what it sees -------------------------------------------------------------------------------------------------


def test_it_sees_the_reply_and_the_option_texts_and_nothing_else(server: Server) -> None:
    ask(server, 'What {reply}?\n"quoted" \u2028 ü {')
    (body,) = server.bodies
    assert set(body) == {"model", "temperature", "max_tokens", "messages"}
    assert (body["model"], body["temperature"]) == ("some-model", 0)
    ((role, text),) = [(message["role"], message["content"]) for message in body["messages"]]
    assert role == "user"
    assert text.endswith(
        'Options:\nA. the left one\nB. the right one\nC. \n\nReply:\nWhat {reply}?\n"quoted" \u2028 ü {\n\nLetter:'
    )


def test_the_right_answer_makes_no_difference_to_what_it_sees(server: Server) -> None:
    settings = Settings(judge_url=server.url, judge_model="m")
    for gold in ("A", "B"):
        asked = Question(
            id="secret-id",
            setting="state_invariance",
            parts=(Text("secret question"),),
            options=(Option("A", "the left one"), Option("B", "the right one")),
            gold=(gold,),
            cluster="c",
        )
        module._ask.cache_clear()
        answer = Evaluation(task("m4bench_state_invariance"), settings).answer(asked, "Hm, that is difficult")
        assert answer.scored.extra["acc_judged"] == float(gold == "B")
        assert (answer.scored.score, answer.scored.outcome, answer.scored.letters) == (0.0, "none", ())
    assert server.bodies[0] == server.bodies[1]
    assert "secret" not in json.dumps(server.bodies)


def test_the_key_goes_into_the_header_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_JUDGE_KEY", f"{KEY}\n")
    judge = Judge(server.url, "m")
    verdict = judge.verdict("hm", OPTIONS)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(judge) + repr(verdict) + json.dumps(server.bodies)


def test_without_a_key_there_is_no_such_header(server: Server) -> None:
    ask(server)
    assert "Authorization" not in server.headers[0]


# --- failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ((500, b"<html>Internal error</html>"), "HTTP Error 500"),
        ((401, b"{}"), "HTTP Error 401"),
        ((404, b""), "HTTP Error 404"),
        ((200, b"<html>welcome</html>"), "JSONDecodeError"),
        ((200, b"\xff\xfe\x00"), "Unicode"),
        ((200, b""), "JSONDecodeError"),
        ((200, b"[]"), "TypeError"),
        ((200, b"null"), "TypeError"),
        ((200, b'"text"'), "TypeError"),
        ((200, b'{"error": "overloaded"}'), "KeyError"),
        ((200, b'{"choices": []}'), "IndexError"),
        ((200, b'{"choices": [{"message": null}]}'), "TypeError"),
        ((200, b"[" * 100_000), "RecursionError"),
        ((200, chat("")), "empty"),
        ((200, chat("  ")), "empty"),
        ((200, chat(None)), "empty"),
        ((200, chat(["B"])), "empty"),
        (None, ""),
    ],
)
def test_a_server_that_fails_gives_no_letters_and_says_why(
    server: Server, answer: tuple[int, bytes] | None, named: str
) -> None:
    server.says = lambda: answer
    verdict = ask(server)
    assert (verdict.letters, verdict.said) == ((), "")
    assert named in verdict.error
    assert verdict.error


def test_a_server_that_recovers_is_asked_again(server: Server) -> None:
    answers = iter([(500, b""), (200, b"garbage"), (200, chat("A"))])
    server.says = lambda: next(answers)
    assert ask(server).letters == ("A",)


def test_a_failing_server_is_asked_three_times_and_no_more(server: Server) -> None:
    server.says = lambda: (503, b"")
    ask(server)
    assert len(server.bodies) == module.TRIES == 3


def test_a_server_that_speaks_no_http_or_stops_half_way_gives_no_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    for words in (b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", b""):
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def serve(words: bytes = words, listening: socket.socket = listening) -> None:
                for _ in range(module.TRIES):
                    connection, _ = listening.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(words)

            thread = threading.Thread(target=serve)
            thread.start()
            module._ask.cache_clear()
            verdict = Judge(f"http://127.0.0.1:{listening.getsockname()[1]}", "m").verdict("hm", OPTIONS)
            thread.join()
        assert verdict.letters == ()
        assert verdict.error


def test_a_server_that_does_not_answer_in_time_gives_no_letters(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.1)
    server.says = lambda: time.sleep(0.5)
    started = time.monotonic()
    verdict = ask(server)
    assert "timed out" in verdict.error
    assert time.monotonic() - started < 5


def test_no_server_at_all_gives_no_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    for address in ("http://127.0.0.1:9/v1", "http://no such host/v1", "http://[::1", "nonsense"):
        verdict = Judge(address, "m").verdict("hm", OPTIONS)
        assert verdict.letters == ()
        assert verdict.error


@pytest.mark.parametrize("key", [f"{KEY}\nX-More: 1", f"{KEY}ü🙂", f"{KEY}\0"])
def test_a_key_that_no_header_can_hold_is_not_shown_in_the_error(
    server: Server, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("SPOTDIFF_JUDGE_KEY", key.replace("\0", "\r"))
    server.says = lambda: (500, b"")
    verdict = ask(server)
    assert verdict.letters == ()
    assert "very-secret" not in repr(verdict)


def test_a_server_that_repeats_the_key_in_its_error_does_not_bring_it_into_a_log(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_JUDGE_KEY", KEY)
    server.says, server.reason = lambda: (401, b""), f"unknown key {KEY}"
    assert ask(server).error == "HTTPError: HTTP Error 401: unknown key ***"


# --- how often ----------------------------------------------------------------------------------------------------


def test_the_same_reply_to_the_same_options_is_judged_once(server: Server) -> None:
    for _ in range(3):
        ask(server)
    ask(server, "another reply")
    Judge(server.url, "other-model").verdict("another reply", OPTIONS)
    assert len(server.bodies) == 3


def test_there_is_no_judge_unless_one_is_set() -> None:
    assert Judge.of(Settings()) is None
    assert Judge.of(Settings(judge_url="http://x", judge_model="m")) == Judge("http://x", "m")


@pytest.mark.parametrize("outcome", Outcome)
def test_only_replies_that_may_name_an_option_in_their_own_words_are_judged(outcome: Outcome) -> None:
    wanted = Judge("http://x", "m").wanted(Reading((), outcome, "", False))
    assert wanted == (outcome in (Outcome.none, Outcome.ambiguous))


def test_a_reply_that_was_read_is_not_judged_and_counts_the_same(server: Server) -> None:
    asked = Question("i", "state_invariance", (), (Option("A", "No"), Option("B", "Yes")), ("A",), "c")
    evaluation = Evaluation(task("m4bench_state_invariance"), Settings(judge_url=server.url, judge_model="m"))
    answer = evaluation.answer(asked, "A")
    assert (answer.verdict, answer.scored.extra["acc_judged"], server.bodies) == (None, 1.0, [])
    for reply in (None, "", "  "):
        assert evaluation.answer(asked, reply).scored.extra["acc_judged"] == 0.0
    assert server.bodies == []


def test_a_judge_that_fails_leaves_the_reply_unparsed(server: Server) -> None:
    server.says = lambda: (500, b"")
    asked = Question("i", "state_invariance", (), (Option("A", "No"), Option("B", "Yes")), ("A",), "c")
    evaluation = Evaluation(task("m4bench_state_invariance"), Settings(judge_url=server.url, judge_model="m"))
    answer = evaluation.answer(asked, "That is hard to tell from here")
    assert (answer.scored.outcome, answer.scored.score, answer.scored.extra["acc_judged"]) == ("none", 0.0, 0.0)
    assert answer.verdict is not None
    assert "500" in answer.verdict.error
