"""What a user reads when something is wrong."""

from spotdiff.errors import DataError, Problem


def test_a_problem_says_file_row_field_what_is_wrong_and_what_to_do() -> None:
    problem = Problem("some/file", "7", "answer", "is missing", "Prepare the data again")
    assert str(problem) == "some/file, row 7, field answer: is missing. Prepare the data again"


def test_an_error_lists_its_problems_up_to_twenty() -> None:
    problems = [Problem("f", str(number), "x", "m", "r") for number in range(20)]
    assert str(DataError("What is wrong.", problems)).splitlines() == ["What is wrong.", *(f"  {p}" for p in problems)]
    more = DataError("What is wrong.", [*problems, problems[0], problems[1]])
    assert str(more).splitlines()[-1] == "  ... and 2 more"
    assert len(more.problems) == 22


def test_an_error_without_problems_is_its_message() -> None:
    assert str(DataError("What is wrong.")) == "What is wrong."
