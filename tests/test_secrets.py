"""What is masked, what is left alone, and that nothing is masked twice."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.secrets import is_secret, mask, masked_output, without_known_secrets, without_secrets

SECRET = "x9Recognisable7Key"


@pytest.fixture(autouse=True)
def a_process_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["program"])
    for name in ("OPENAI_API_KEY", "LMDEPLOY_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("given", "masked"),
    [
        ("model=m,api_key=SECRET,timeout=3", "model=m,api_key=...,timeout=3"),
        ("key=SECRET", "key=..."),
        ("openai_api_key='SECRET', x=1", "openai_api_key='...', x=1"),
        ("apiKey=SECRET hfToken=SECRET", "apiKey=... hfToken=..."),
        ("password = 'SECRET'", "password = '...'"),
        ("vlmeval run --key SECRET --model m", "vlmeval run --key ... --model m"),
        ("--judge-key=SECRET --x", "--judge-key=... --x"),
        ('{"api_key": "SECRET", "n": 1}', '{"api_key": "...", "n": 1}'),
        ('{"client_secret":"with space SECRET"}', '{"client_secret":"..."}'),
        (r'"{\"token\": \"SECRET\", \"n\": 1}"', r'"{\"token\": \"...\", \"n\": 1}"'),
        ("{'Authorization': 'Bearer SECRET'}", "{'Authorization': '...'}"),
        ('["--key", "SECRET", "--model"]', '["--key", "...", "--model"]'),
        ("Authorization: Bearer SECRET", "Authorization: Bearer ..."),
        ("authorization: Basic SECRET==", "authorization: Basic ..."),
        ("x-api-key: SECRET", "x-api-key: ..."),
        ("sent Bearer SECRET to it", "sent Bearer ... to it"),
        ("Incorrect API key provided: SECRET. See", "Incorrect API key provided: ... See"),
        ("https://user:SECRET@host/v1", "https://user:...@host/v1"),
        ("https://host/v1?api_key=SECRET&n=1#x", "https://host/v1?api_key=...&n=1#x"),
        ("https://host/v1?n=1&token=SECRET", "https://host/v1?n=1&token=..."),
        ("key sk-proj-abc_DEF-0123456789 is wrong", "key ... is wrong"),
        ("key sk-abcd********************wxyz is wrong", "key ... is wrong"),
        ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "..."),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "..."),
        ("AIzaSyA-0123456789abcdefghijklmnopqrstu", "..."),
        ("AKIAABCDEFGHIJKLMNOP", "..."),
    ],
)
def test_a_secret_is_masked_and_what_stands_around_it_stays(given: str, masked: str) -> None:
    assert without_secrets(given.replace("SECRET", SECRET)) == masked


@pytest.mark.parametrize(
    "text",
    [
        "max_new_tokens=64,max_tokens=3,tokenizer=name,keyframes=8,monkey=2",
        "--max-tokens 1024 --keep-failed --model key",
        "api_key=none,token=True,key=,secret=null,base_url=http://localhost:8000/v1",
        "The key: B. Authorization of the basic requirements.",
        "https://host:8000/v1?model=m&n=1, mail@host",
        "task-force-of-many-words risk-averse-behaviour-here llava_hf_something_long_enough",
        '{"id": "key", "text": "token"}',
        "",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "name", ["key", "KEY", "api-key", "HF_TOKEN", "--judge-key", "apiKey", "db.password", "VIDEO_TOKEN"]
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokenizer", "keyframe", "monkey", "KEYBOARD", "HF_TOKEN_PATH", "image_token"]
)
def test_names_that_only_look_like_those_of_secrets_are_not_taken_for_them(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize("clean", [without_secrets, without_known_secrets])
def test_a_secret_of_the_environment_is_masked_wherever_it_stands(
    clean: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    monkeypatch.setenv("OTHER_TOKEN", f"{SECRET}AndMore")
    assert clean(f"wrong:{SECRET}/{SECRET}AndMore!") == "wrong:.../...!"


@pytest.mark.parametrize(
    "words",
    [
        ["--key", SECRET],
        [f"--key={SECRET}"],
        ["--model_args", f"model=m,api_key={SECRET},n=1"],
        [f'{{"k": 1, "key": "{SECRET}"}}'],
    ],
)
def test_a_secret_of_the_command_line_is_masked_wherever_it_stands(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", *words])
    assert without_known_secrets(f"the server says {SECRET} is wrong") == "the server says ... is wrong"


def test_short_values_are_not_looked_for_in_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "none")
    monkeypatch.setattr(sys, "argv", ["program", "--key", "sk-1"])
    assert without_secrets("nonesuch and sk-1") == "nonesuch and sk-1"


def test_replies_keep_what_only_looks_like_a_secret() -> None:
    reply = 'The key=B, "token": "C", Bearer ABCDEFGH'
    assert without_known_secrets(reply) == reply


def test_arguments_are_masked_by_name_at_every_depth_and_keep_their_types() -> None:
    given_ = {
        "api_key": SECRET,
        "nested": {"HF_TOKEN": SECRET, "list": [f"key={SECRET}", 1, None], "n": 2.5},
        "argv": ["vlmeval", "--key", SECRET, "--model", "m"],
        "token": None,
        "password": "",
        "max_tokens": 3,
    }
    assert mask(given_) == {
        "api_key": "...",
        "nested": {"HF_TOKEN": "...", "list": ["key=...", 1, None], "n": 2.5},
        "argv": ["vlmeval", "--key", "...", "--model", "m"],
        "token": None,
        "password": "",
        "max_tokens": 3,
    }
    assert given_["api_key"] == SECRET


WORDS = st.sampled_from(
    [
        "api_key",
        "token",
        "=",
        ",",
        ":",
        " ",
        '"',
        "'",
        "\\",
        "--key",
        "Bearer ",
        "://",
        "@",
        "?",
        "&",
        "a",
        "x9Z",
        "none",
        "\n",
    ]
)


@given(st.lists(WORDS, max_size=30).map("".join))
def test_masking_a_second_time_changes_nothing(text: str) -> None:
    once = without_secrets(text)
    assert without_secrets(once) == once


VALUES = st.text("abcdefXYZ0123456789-_.+/", min_size=8, max_size=40)


@given(VALUES, st.sampled_from(["api_key", "hf_token", "KEY", "client-secret", "Password"]))
def test_no_value_behind_the_name_of_a_secret_is_left_in_any_notation(value: str, name: str) -> None:
    value = f"q{value}q"
    for text in (
        f"model=m,{name}={value},n=1",
        json.dumps({"a": 1, name: value}),
        json.dumps(json.dumps({name: value})),
        repr({name: value}),
        repr([(name, value)]),
        f"run --{name} {value} --next",
        f"http://host/?{name}={re.sub('[^a-zA-Z0-9]', '-', value)}&n=1",
    ):
        assert value not in without_secrets(text), text


def test_printed_secrets_are_masked_on_both_streams_until_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    with masked_output():
        print("out", SECRET)
        print("err", SECRET, file=sys.stderr)
        sys.stdout.writelines([SECRET, "\n"])
    print("plain")
    assert capsys.readouterr() == ("out ...\n...\nplain\n", "err ...\n")


def test_a_long_text_is_masked_in_one_pass() -> None:
    # Time that grows with the square of the length would take minutes.
    for piece in ("a-", "api_key", "key=", '"', "\\", "://a:", "a.b_c"):
        without_secrets(piece * (300_000 // len(piece)))
