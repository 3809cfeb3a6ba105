"""What a question offers to those that ask it."""

import hashlib
import string

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PILImage

from spotdiff.question import Image, Option, Question, Text, shuffled


def question(**changes: object) -> Question:
    fields = {
        "id": "s/1",
        "setting": "s",
        "parts": (Text("before"), Image(lambda: PILImage.new("RGB", (1, 1))), Text("after")),
        "options": (Option("A", "yes"), Option("B", None)),
        "gold": ("A",),
        "cluster": "c",
    }
    return Question(**{**fields, **changes})  # type: ignore[arg-type]


def test_the_prompt_is_all_text_in_order() -> None:
    assert question().prompt == "before\nafter"


def test_the_images_are_found_in_order_and_not_opened() -> None:
    opened = []
    images = tuple(Image(lambda number=number: opened.append(number)) for number in range(3))  # type: ignore[misc, arg-type]
    asked = question(parts=(images[0], Text("x"), *images[1:]))
    assert [image is found for image, found in zip(images, asked.images(), strict=True)] == [True] * 3
    assert opened == []
    asked.images()[1].open()
    assert opened == [1]


def test_option_texts_go_by_letter() -> None:
    assert question().option_texts == {"A": "yes", "B": None}


def test_an_image_shows_nothing_of_where_it_comes_from() -> None:
    path = "secret/answer_yes.png"
    assert path not in repr(Image(lambda: PILImage.open(path)))


OPTIONS = st.integers(2, 26).map(
    lambda n: tuple(Option(c, f"text {c}", ((0, 0, 1, 1),)) for c in string.ascii_uppercase[:n])
)


@given(OPTIONS, st.integers(0, 10**9), st.text(), st.data())
def test_a_shuffle_is_a_permutation_that_the_right_letters_follow(
    options: tuple[Option, ...], seed: int, key: str, data: st.DataObject
) -> None:
    try:
        key.encode()
    except UnicodeEncodeError:
        key = "x"
    gold = tuple(sorted(data.draw(st.sets(st.sampled_from([o.letter for o in options]), min_size=1))))
    mixed, right = shuffled(options, gold, seed, key)
    assert [option.letter for option in mixed] == [option.letter for option in options]
    assert sorted(option.text or "" for option in mixed) == sorted(option.text or "" for option in options)
    texts = {option.letter: option.text for option in mixed}
    assert {texts[letter] for letter in right} == {f"text {letter}" for letter in gold}
    assert right == tuple(sorted(right))
    assert shuffled(options, gold, seed, key) == (mixed, right)


def test_a_shuffle_is_the_order_of_the_digests() -> None:
    options = tuple(Option(letter, letter) for letter in "ABCDE")
    digest = {letter: hashlib.sha256(f"9/the key/{letter}".encode()).hexdigest() for letter in "ABCDE"}
    mixed, gold = shuffled(options, ("A",), 9, "the key")
    assert [option.text for option in mixed] == sorted("ABCDE", key=digest.__getitem__)
    assert gold == ("ABCDE"[[option.text for option in mixed].index("A")],)


def test_every_position_is_reached_about_equally_often() -> None:
    options = tuple(Option(letter, letter) for letter in "ABCD")
    places = [shuffled(options, ("A",), 0, f"q{number}")[1][0] for number in range(2000)]
    assert all(430 < places.count(letter) < 570 for letter in "ABCD")
