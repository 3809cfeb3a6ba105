"""A scored answer as a record and back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.answers import Outcome, Reading
from spotdiff.evaluation import Answer
from spotdiff.judge import Verdict
from spotdiff.runs.records import from_record, to_record
from spotdiff.scoring import Scored

TEXT = st.text(min_size=1)
SHARE = st.floats(0, 1)
LETTERS = st.lists(st.sampled_from("ABCD"), min_size=1, max_size=4, unique=True).map(tuple)


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    outcome = draw(st.sampled_from(Outcome))
    parsed = outcome is Outcome.parsed
    scored = Scored(
        id=draw(TEXT),
        score=draw(SHARE) if parsed else 0.0,
        chance=draw(SHARE),
        letters=draw(LETTERS) if parsed else (),
        gold=draw(LETTERS),
        outcome=outcome.value,
        cluster=draw(TEXT),
        options=draw(st.integers(4, 26)),
        groups=draw(st.dictionaries(TEXT, TEXT | st.lists(TEXT, max_size=3).map(tuple), max_size=3)),
        extra=draw(st.dictionaries(TEXT.filter(lambda name: name != "score"), SHARE, max_size=3)),
    )
    reading = Reading(scored.letters, outcome, draw(st.text()), draw(st.booleans()))
    verdict = draw(st.none() | st.builds(Verdict, LETTERS | st.just(()), st.text(), st.text()))
    return Answer(scored, reading, verdict)


@given(answers(), TEXT, st.integers(1, 9999))
def test_a_record_survives_json_and_gives_the_answer_back(answer: Answer, task: str, total: int) -> None:
    record = json.loads(json.dumps(to_record(answer, task, total)))
    assert from_record(record) == answer.scored
    assert (record["task"], record["total"]) == (task, total)
    assert (record["rule"], record["conflict"]) == (answer.reading.rule, answer.reading.conflict)
    if answer.verdict is None:
        assert "judge" not in record
    else:
        verdict = record["judge"]
        assert Verdict(tuple(verdict["letters"]), verdict["said"], verdict["error"]) == answer.verdict


@given(answers())
def test_a_record_is_plain_values_only(answer: Answer) -> None:
    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain(entry) for key, entry in value.items())
        return all(map(plain, value)) if isinstance(value, list) else type(value) in (str, int, float, bool)

    assert plain(to_record(answer, "t", 1))


RECORD = to_record(
    Answer(
        Scored(id="i", score=1.0, chance=0.5, letters=("A",), gold=("A",), outcome="parsed", cluster="c", options=2),
        Reading(("A",), Outcome.parsed, "bare", False),
    ),
    "t",
    1,
)


@pytest.mark.parametrize(
    "field", ["id", "score", "chance", "letters", "gold", "outcome", "cluster", "options", "groups", "extra"]
)
def test_a_record_without_a_field_is_refused(field: str) -> None:
    with pytest.raises(KeyError, match=field):
        from_record({name: value for name, value in RECORD.items() if name != field})


@pytest.mark.parametrize(
    "change", [{"score": 2.0}, {"outcome": "fine"}, {"letters": []}, {"gold": []}, {"cluster": ""}]
)
def test_a_record_that_breaks_the_rules_of_scoring_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_record({**RECORD, **change})
