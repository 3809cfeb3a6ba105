"""How replies are read: each case is a form that models write, with what a careful person would read from it."""

from __future__ import annotations

import string
import time

import hypothesis
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spotdiff.answers import Outcome, Reading, read_reply

FOUR = dict.fromkeys("ABCD")
FIVE = dict.fromkeys("ABCDE")
TEN = dict.fromkeys("ABCDEFGHIJ")
FOURTEEN = dict.fromkeys("ABCDEFGHIJKLMN")
THINGS = dict(zip("ABCD", ("cup", "bowl", "plate", "fork"), strict=True))
NUMBERS = dict(zip("ABCD", ("3", "4", "14", "40"), strict=True))
YES_NO = {"A": "Yes", "B": "No"}
NO_YES = {"A": "No", "B": "Yes"}
LISTED = {"A": "the chair", "B": "the table", "C": "the lamp", "D": "No correct option is listed."}
SAME = {"A": "left", "B": "left", "C": "right", "D": "No difference."}
BOXES = {
    "A": "[945, 103, 997, 642] in figure 1 and [945, 103, 997, 642] in figure 2",
    "B": "[98, 0, 806, 402] in figure 1 and [98, 0, 806, 402] in figure 2",
    "C": "[379, 643, 751, 712] in figure 1 and [379, 643, 751, 712] in figure 2",
    "D": "No difference.",
}

OUTCOMES = {outcome.value for outcome in Outcome}


def said(reading: Reading) -> str:
    """The letters run together, or the name of the outcome."""
    return "".join(reading.letters) or reading.outcome.value


TABLE = [
    ("B", FOUR, False, "B"),
    ("(b)", FOUR, False, "B"),
    ("B. No", YES_NO, False, "B"),
    ("B\n\nBecause the lamp moved.", FOUR, False, "B"),
    ("(D) No difference.\n\nRegions (A), (B) and (C) look the same.", SAME, False, "D"),
    ("A. The cup stays.\nB. The bowl moved.\nC. Hidden.\nD. Gone.", THINGS, False, "ambiguous"),
    ("**Answer:** C", FOUR, False, "C"),
    ("The correct answer is: A", FOUR, False, "A"),
    ("I considered A and B, but the answer is D.", FOUR, False, "D"),
    ("The answer is A. Wait, no: the answer is C.", FOUR, False, "C"),
    ("The answer is not A.", FOUR, False, "none"),
    ("The answer is A or B.", FOUR, False, "ambiguous"),
    ("Answer: N/A", FOUR, False, "none"),
    ("A red car moved.", FOUR, False, "none"),
    ("The answer is a plate", THINGS, False, "C"),
    ("The answer is a green plate", THINGS, False, "none"),
    ("Both images show the same object.", FOUR, False, "none"),
    ("Yes, these two pictures show the same object.", NO_YES, False, "B"),
    ("GAME over", FOUR, False, "none"),
    ("Neither A nor B. C is right.", FOUR, False, "C"),
    ("<think>maybe A</think>B", FOUR, False, "B"),
    ("<think>A is wrong so", FOUR, False, "truncated"),
    ("A</think>C", FOUR, False, "C"),
    ("<answer>B. bowl</answer>", THINGS, False, "B"),
    (
        "Regions (A) and (B) show nothing; there is No difference. in the lamp, so the correct answer is: C",
        SAME,
        False,
        "C",
    ),
    ("No difference.", SAME, False, "D"),
    ("There is no difference between them.", SAME, False, "none"),
    ("None of the provided boxes match. A bounding box would be needed.", FOUR, False, "none"),
    ("\\boxed{B}", FOUR, False, "B"),
    ("E", FOUR, False, "invalid"),
    ("A, B", FOUR, False, "ambiguous"),
    ("A,C", FOUR, True, "AC"),
    ("AC", FOUR, True, "AC"),
    ("A and C", FOUR, True, "AC"),
    ("A, B, and D", FOUR, True, "ABD"),
    ("A. cup\nC. plate", THINGS, True, "AC"),
    ("The right ones are:\nA\nC", FOUR, True, "AC"),
    ('["A", "C"]', FOUR, True, "AC"),
    ("A, F", FOUR, True, "invalid"),
    ("The correct options are B and D.", FOUR, True, "BD"),
    ("AA", FOUR, True, "A"),
    ("BAD", FOUR, True, "ABD"),
    ("BAD", FOUR, False, "ambiguous"),
    ("", FOUR, False, "empty"),
    (" \n\t ", FOUR, False, "empty"),
    ("I'm sorry, I can't help with that.", FOUR, False, "refused"),
    ("I'm sorry, I cannot see well, but I would go with (B).", FOUR, False, "B"),
    ("Failed to obtain answer via API.", FOUR, False, "error"),
    ("答案是 C", FOUR, False, "C"),
    ("选择B。", FOUR, False, "B"),
    ("Ｃ", FOUR, False, "C"),
    ('{"answer": "D", "reason": "A is blurry"}', FOUR, False, "D"),
    ("C: [379, 643, 751, 712] in figure 1", BOXES, False, "C"),
    ("Answer: Option D, because A moved", FOUR, False, "D"),
    ("The difference is at [98, 0, 806, 402].", BOXES, False, "none"),
    ("The answer is 4", NUMBERS, False, "B"),
]


@pytest.mark.parametrize(("reply", "options", "several", "wanted"), TABLE)
def test_the_reference_table_is_read_as_written(
    reply: str, options: dict[str, str | None], several: bool, wanted: str
) -> None:
    assert said(read_reply(reply, options, several=several)) == wanted


@pytest.mark.parametrize(("reply", "options", "several", "wanted"), TABLE)
def test_blanks_and_the_end_token_around_a_reply_change_nothing(
    reply: str, options: dict[str, str | None], several: bool, wanted: str
) -> None:
    assert said(read_reply(f"\n  {reply} \n\n", options, several=several)) == wanted
    if reply.strip() and wanted not in ("truncated", "error"):
        assert said(read_reply(f"{reply}<|im_end|>", options, several=several)) == wanted


def test_no_reply_at_all_is_empty() -> None:
    assert read_reply(None, FOUR) == Reading((), Outcome.empty, "", False)


# Cleaning


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("<thinking>A?</thinking>\nB", "B"),
        ("<THINK>A</THINK>B", "B"),
        ("<|begin_of_thought|>A<|end_of_thought|><|begin_of_solution|>B<|end_of_solution|>", "B"),
        ("<think>x<think>A</think>y</think>B", "B"),
        ("<think></think>\n\nC", "C"),
        ("[THINK]A[/THINK]B", "B"),
        ("◁think▷A◁/think▷B", "B"),
        ("◁think▷A", "truncated"),
        ("B<think>A", "truncated"),
        ("<think>\n\n</think>", "empty"),
        ("<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>", "B"),
        ("<|channel|>analysis<|message|>A?", "truncated"),
        ("<REASONING>Option A moved.</REASONING><CONCLUSION>B</CONCLUSION>", "B"),
        ("<think>A or C?</think><answer><|begin_of_box|>D<|end_of_box|></answer>", "D"),
        ("<answer>A</answer> no, <answer>B</answer>", "B"),
        ("<answer>B", "B"),
        ("<answer></answer>", "empty"),
        ("B</answer>", "B"),
        ("<answer>no letter here</answer>", "none"),
        ("B<|im_end|>\n<|im_start|>user\nA?", "B"),
        ("B</s>", "B"),
        ("B<end_of_turn>", "B"),
        ("ASSISTANT: B", "B"),
        ("assistant\nB", "B"),
        ("```\nB\n```", "B"),
        ('```json\n{"answer": "B"}\n```', "B"),
        ("`B`", "B"),
        ("**B**", "B"),
        ("__B__", "B"),
        ("# B", "B"),
        ("> B", "B"),
        ("$\\boxed{\\text{(B)}}$", "B"),
        ("The final answer is $\\boxed{\\mathbf{C}}$.", "C"),
        ("\\boxed{A} is what I had. No: \\boxed{B}", "B"),
        ("\\boxed{bowl}", "B"),
        ("\\boxed{B. bowl}", "B"),
        ("\\boxed{A} or \\boxed{B}", "ambiguous"),
        ("\\boxed{N/A}", "none"),
        ("\u200b\ufeffB\u200b", "B"),
        ("\u200b", "empty"),
        ("<b>B</b>", "B"),
        ("<B>", "B"),
        ("（Ｂ）", "B"),
        ("\u201cB\u201d", "B"),
        ("✅ B", "B"),
    ],
)
def test_reasoning_wrappers_and_marks_are_taken_off(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ('{"answer": "bowl"}', "B"),
        ('{"choice":"(C)"}', "C"),
        ('{"reasoning": "Option A is wrong", "answer": "C"}', "C"),
        ('{"reason": "the answer is A or B", "answer": "C"}', "C"),
        ('{"answer": "B", "confidence": 0.9', "B"),
        ("{'answer': 'B', 'reason': 'A moved'}", "B"),
        ('{"answer": ["A","C"]}', "ambiguous"),
        ('{"answer": "none"}', "none"),
        ('{"answer": null}', "none"),
        ('{"A": 0.2, "B": 0.8}', "ambiguous"),
    ],
)
def test_the_answer_of_a_json_object_is_read(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


# The first rule: failures and refusals


@pytest.mark.parametrize(
    "reply",
    [
        "Failed to obtain answer via API",
        "Failed to retrieve GPT-4 response after maximum retries.",
        "Failed to retrieve answer response after maximum retries",
        "[LMMS_EVAL_REQUEST_FAILED after 3 retries] connection reset",
        "[LMMS_EVAL_BUDGET_EXCEEDED]",
        "failed",
        "Failed.",
    ],
)
def test_a_failure_text_is_an_error(reply: str) -> None:
    assert read_reply(reply, FOUR) == Reading((), Outcome.error, "failure", False)


def test_a_reply_about_failing_is_no_error() -> None:
    assert read_reply("The man failed to lift it. The answer is B.", FOUR).letters == ("B",)
    assert read_reply("The cup failed to stay.", FOUR).outcome is Outcome.none


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't assist with that request.",
        "I\u2019m sorry, I can\u2019t identify people.",
        "As an AI, I cannot view images.",
        "I am unable to answer this.",
        "Sorry, I can't see images. A picture would help.",
        "I cannot determine the answer.",
        "Unable to tell.",
        "抱歉，我无法回答。",
    ],
)
def test_a_refusal_without_a_letter_is_refused(reply: str) -> None:
    assert read_reply(reply, FOUR).outcome is Outcome.refused


def test_a_refusal_with_a_letter_behind_it_is_read() -> None:
    assert read_reply("Sorry for the confusion. The answer is B.", FOUR).letters == ("B",)


# The second rule: declarations


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: B",
        "Answer:B",
        "answer: b",
        "ANSWER - B",
        "Answer = B",
        "Answer B",
        "Ans: B",
        "Answer:\nB",
        "Answer: B) bowl",
        "Answer: bowl",
        "Answer: A bowl",
        "Answer: the bowl",
        "### Final Answer\nB",
        "### Answer: **B**",
        "Final answer - **B**",
        "Final Answer: (B) bowl\n\nNote that (A) is similar.",
        "The answer is **B. bowl**.",
        "The answer is b",
        "answer is option b.",
        "the answer is a bowl.",
        "The answer would be (B).",
        "The correct answer is\n\nB. bowl",
        "The correct answer is therefore **B**.",
        "The answer is most likely B.",
        'The answer is "B".',
        "The answer is B, not A.",
        "The answer is B because A moved.",
        "The answer is B, A is only similar.",
        "Correct answer: B",
        "Choice: B",
        "My choice: B",
        "Selected option: B",
        "The correct choice is option (B): bowl",
        "I would go with (B)",
        "I'd pick option B.",
        "I choose B.",
        "Let's go with B.",
        "My final guess is B.",
        "Hence B.",
        "Thus, B.",
        "So, option B.",
        "Therefore (B).",
        "B is correct.",
        "Option B is the correct answer.",
        "Therefore B is the best answer.",
        "Option B seems to be the most likely.",
        "Given the options, B is the most plausible.",
        "It moved, making (B) the correct answer.",
        "It moved, making the correct answer (B).",
        "Option A is not correct. Option B is correct.",
        "A is wrong, C is wrong, D is wrong. B is the answer.",
        "A: Incorrect.\nB: Correct.\nC: Incorrect.",
        "Options:\nA. cup\nB. bowl\nC. plate\nD. fork\nAnswer: B",
        "Since none of the others moved, the correct answer is:\n\nB. bowl",
        "There is no cup and no fork, so the answer is B",
        "The answer is A. Hmm, wait. The answer is B.",
        "I think it is B.",
        "The correct one, which is not red, is B.",
    ],
)
def test_words_that_speak_of_the_answer_decide(reply: str) -> None:
    assert said(read_reply(reply, THINGS)) == "B"


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("答案是B。", "B"),
        ("正确答案：C", "C"),
        ("正确答案是（D）。", "D"),
        ("【答案】C", "C"),
        ("答案為D", "D"),
        ("答案應為D", "D"),
        ("答案：Ａ", "A"),
        ("因此，选B。", "B"),
        ("我选择A", "A"),
        ("应该选C", "C"),
        ("故选D", "D"),
        ("因为杯子移动了，所以答案选B", "B"),
        ("选项C正确。", "C"),
        ("不选B", "none"),
        ("答案不是A。", "none"),
        ("B是错误的", "none"),
        ("选项 A 和 B 都不对。", "none"),
    ],
)
def test_chinese_declarations_are_read(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize(
    "reply",
    [
        "not B",
        "B is wrong.",
        "Option B is incorrect.",
        "(B) isn't it.",
        "Neither A nor B.",
        "It is not (B).",
        "Answer: not B",
        "The answer isn't B.",
        "The answer cannot be B.",
        "The wrong answer is B.",
        "I would not choose B.",
        "I don't think the answer is B.",
        "I can rule out option B.",
        "Except for (B), all stay.",
        "None of the options (A), (B), (C) or (D) fits.",
        "The correct answer is none of the above.",
        "The answer is not listed among (A), (B), (C) and (D).",
        "Hence, none of the given options A, B, C, or D match.",
    ],
)
def test_a_negated_letter_is_no_evidence(reply: str) -> None:
    assert read_reply(reply, THINGS).outcome is Outcome.none


@pytest.mark.parametrize(
    "reply",
    [
        "The answer is A cat",
        "Answer: A red car",
        "The answer is a cat",
        "A man is walking.",
        "Image A shows a cup and image B shows a bowl.",
        "Vitamin C is in the fruit.",
        "Person A hands it to person B.",
        "Plan B",
        "Grade A beef",
        "A's cup is full.",
        "D-shaped handle",
        "The car has a C on it.",
        "C is on the right.",
        "A is right of B.",
        "The right hand holds A.",
        "(A tennis player is seen)",
        "N/A",
        "n/a",
        "NA",
        "None",
        ".",
    ],
)
def test_other_capitals_and_the_article_are_no_letters(reply: str) -> None:
    assert read_reply(reply, THINGS).outcome is Outcome.none


@pytest.mark.parametrize("reply", ["N/A", "Answer: N/A", "The answer is N/A."])
def test_not_applicable_is_no_letter_even_where_n_is_an_option(reply: str) -> None:
    assert read_reply(reply, FOURTEEN).outcome is Outcome.none


def test_the_pronoun_is_no_letter_where_i_is_an_option() -> None:
    assert said(read_reply("I", TEN)) == "I"
    assert said(read_reply("(I)", TEN)) == "I"
    assert said(read_reply("I think the lamp moved.", TEN)) == "none"
    assert said(read_reply("The answer is I think unclear", TEN)) == "none"


@pytest.mark.parametrize(
    "reply",
    ["Is the answer A?", "If the answer is A, the cup moved.", "Suppose option A is correct. Then the cup moved."],
)
def test_questions_and_suppositions_declare_nothing(reply: str) -> None:
    assert read_reply(reply, FOUR).rule != "declaration"


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("40", "D"),
        ("The answer is 14.", "C"),
        ("The answer is 4, not 3.", "B"),
        ("The answer is 4.5", "none"),
        ("The answer is 4 chairs", "none"),
        ("There are 4.", "none"),
        ("The answer is 4, 14", "ambiguous"),
    ],
)
def test_only_a_whole_option_text_is_declared(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, NUMBERS)) == wanted


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: No correct option is listed.",
        "The answer is D. No correct option is listed.",
        "No correct option is listed.",
        "The correct answer is: No correct option is listed.",
    ],
)
def test_an_option_that_says_that_none_is_right_is_an_option(reply: str) -> None:
    assert said(read_reply(reply, LISTED)) == "D"


def test_a_text_that_two_options_share_is_no_answer() -> None:
    assert read_reply("left", SAME).outcome is Outcome.none
    assert said(read_reply("right", SAME)) == "C"


# The third rule: a bare reply


@pytest.mark.parametrize(
    "reply",
    [
        "B.",
        "(B)",
        "[B]",
        "B)",
        "B:",
        "B!",
        "b",
        "b.",
        "'B'",
        "Option B",
        "Option B.",
        "option b",
        "- B",
        "B. bowl",
        "B) bowl",
        "B: bowl",
        "(B) bowl",
        "[B] bowl",
        "B bowl",
        "B (bowl)",
        "B.bowl",
        "b) bowl",
        "bowl (B)",
        "Probably B.",
        "**B. bowl**",
        "B\nB",
        "B, B",
    ],
)
def test_letters_and_punctuation_alone_are_an_answer(reply: str) -> None:
    assert said(read_reply(reply, THINGS)) == "B"


def test_the_letter_a_alone_is_a_letter() -> None:
    assert [said(read_reply(reply, THINGS)) for reply in ("A", "A.", "a", "(A)", "A cup")] == ["A"] * 5


def test_a_letter_beyond_the_options_is_invalid() -> None:
    for reply in ("E", "(E)", "Answer: E", "The answer is F.", "The answer should be:\n(E) None of these fits"):
        assert read_reply(reply, FOUR).outcome is Outcome.invalid
    assert said(read_reply("E", FIVE)) == "E"


# The fourth and fifth rules: leading and closing answers


@pytest.mark.parametrize(
    "reply",
    [
        "C\n\nThe plate was moved to the left.",
        "C. plate\n\nThe plate moved.",
        "C. In the first image the plate is on the left.",
        "C because the plate moved",
        "C - the plate was moved",
        "C. plate\n\nIn option C the plate moved; options A and B did not.",
        "**C. plate**\n\nHere's why:\n\n* **A. cup:** same place.\n* **B. bowl:** same place.\n* **D. fork:** same.",
        "C.\n\nC. plate",
    ],
)
def test_a_first_line_that_answers_decides(reply: str) -> None:
    assert said(read_reply(reply, THINGS)) == "C"


@pytest.mark.parametrize(
    "reply",
    [
        "A. cup\nB. bowl\nC. plate\nD. fork",
        "A. cup B. bowl C. plate D. fork",
        "A. cup, B. bowl",
        "B. bowl\nA. cup",
        "Let's see:\n\nA. cup: it stays.\n\nB. bowl: it moves.\n\nC. plate: it stays.\n\nD. fork",
        "A. cup\n\nIt stays.\n\nB. bowl\n\nIt moves.",
    ],
)
def test_a_list_of_the_options_is_no_answer(reply: str) -> None:
    assert read_reply(reply, THINGS).outcome is Outcome.ambiguous


@pytest.mark.parametrize("reply", ["The options are:\nA. cup", "These are wrong:\nA. cup"])
def test_a_list_that_is_no_list_of_answers_gives_no_letter(reply: str) -> None:
    assert read_reply(reply, THINGS).letters == ()


@pytest.mark.parametrize(
    ("reply", "options", "wanted"),
    [
        ("Yes.", YES_NO, "A"),
        ("No, the two are not the same.", YES_NO, "B"),
        ("Yes - both show a cup", NO_YES, "B"),
        ("Yes they do", YES_NO, "none"),
        ("No difference is visible.", YES_NO, "none"),
        ("A. Yes, both show a cup.", YES_NO, "A"),
        ("Yes, at first. But the answer is No.", YES_NO, "B"),
        ("Cup, it moved.", THINGS, "none"),
    ],
)
def test_a_first_word_counts_only_where_the_options_are_yes_and_no(
    reply: str, options: dict[str, str], wanted: str
) -> None:
    assert said(read_reply(reply, options)) == wanted


@pytest.mark.parametrize(
    "reply",
    [
        "The bowl was on the left and is on the right.\n\nB",
        "The bowl was on the left.\n\n**B. bowl**",
        "What has moved is:\n\n(B) bowl",
        "Step 1: look.\nStep 2: compare.\nB",
    ],
)
def test_a_last_line_that_answers_decides(reply: str) -> None:
    assert said(read_reply(reply, THINGS)) == "B"


# The last rules: option text, statements, one lonely letter


@pytest.mark.parametrize(
    ("reply", "wanted"), [("Bowl.", "B"), (" BOWL ", "B"), ("the bowl", "B"), ("A bowl", "B"), ("bowls", "none")]
)
def test_a_reply_that_is_an_options_text_is_that_option(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize("reply", ["The bowl moved.", "bowl and plate", "It is about a bowling alley."])
def test_an_options_text_within_a_reply_is_no_answer(reply: str) -> None:
    assert read_reply(reply, THINGS).outcome is Outcome.none


@pytest.mark.parametrize(
    "reply",
    [
        "The thing that moved is (B). Nothing else did, unlike in (A).",
        "The thing that moved between the two is:\n\n(B) bowl\n\nIt was on the left before.",
        "(A) stays.\n(C) stays.\n\nThus, the change lies in option (B).",
        "Option A stays. Option C stays. So the bowl in option (B) is what moved.",
        "Of these, the change is best described by option B. Options A and C stay.",
    ],
)
def test_a_statement_of_what_was_asked_for_decides(reply: str) -> None:
    assert said(read_reply(reply, THINGS)) == "B"


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("The bowl (B) moved to the left.", "B"),
        ("It looks as if option B moved.", "B"),
        ("Option A is wrong. Option B shows the move.", "B"),
        ("Option A and option B moved.", "ambiguous"),
        ("Both options A and C look alike.", "ambiguous"),
        ("It ends with the letter B.", "none"),
        ("It ends with B.", "none"),
        ("Could it be (B)?", "none"),
        ("Let's look at option A. The cup is on the", "none"),
        ("To answer this, consider option A first:", "none"),
        ("The first option is A. cup, which stays.", "none"),
        ("A. B. C. D.", "ambiguous"),
    ],
)
def test_one_lonely_letter_in_a_letter_like_form_decides(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


def test_an_analysis_that_ends_with_no_fit_has_no_letter() -> None:
    reply = "Option A: a cup.\nOption B: a bowl.\n\nTherefore, none of these options shows the change."
    assert read_reply(reply, THINGS).outcome is Outcome.none


# Second thoughts, doubts and noise


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("So the answer is B.\n\nWait, I need to reconsider. The bowl is the same. It should be C.", "C"),
        ("Answer: A\n\nActually, B.", "B"),
        ("Answer: A. Correction: B.", "B"),
        ("The answer is A. Actually, it's B.", "B"),
        ("The answer is A. No, B.", "B"),
        ("The answer is A. On second thought, B.", "B"),
        ("I choose A. Change to B.", "B"),
        ("The answer is B. Let me verify. No, C is the changed one.", "C"),
        ("A... no, B", "B"),
        ("答案：A。更正：B。", "B"),
        ("答案是A。不对，应该是B。", "B"),
        ("The answer is B. No wait.", "none"),
        ("So the answer is A. But let me check the other options. Option B: the bowl", "ambiguous"),
        ("Answer: B (or C)", "ambiguous"),
        ("Answer: B. Alternatively, C.", "ambiguous"),
        ("The answer is B, I think. But the cup also moved, so maybe A.", "ambiguous"),
        ("Answer: D\n\nNone of the regions A, B, or C differ.", "D"),
        ("The answer is B. Actually, the bowl moved left.", "B"),
        ("Answer: B. However, (C) is similar.", "B"),
        ("The answer is B. No other object moved.", "B"),
        ("The answer is B. Wait, yes, B.", "B"),
    ],
)
def test_words_behind_an_answer_may_take_it_back_or_put_another_in_its_place(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("Answer: A, C. Wait, no: A, D.", "AD"),
        ("Answer: A, C. Actually, A and C.", "AC"),
        ("Answer: A, C. No wait.", "none"),
        ("Answer: A, C. Alternatively, B.", "ambiguous"),
    ],
)
def test_second_thoughts_hold_for_several_letters_too(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS, several=True)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("The correct answer cannot be B.", "none"),
        ("The correct option won't be B.", "none"),
        ("I doubt the answer is B.", "none"),
        ("Nothing suggests that the answer is B.", "none"),
        ("I do not believe that B is correct.", "none"),
        ("It's unlikely that B is correct.", "none"),
        ("It's not certain that B is correct.", "none"),
        ("It's hard to say that B is correct.", "none"),
        ("I can't confirm that B is correct.", "none"),
        ("B is correct only if the bowl moved, which it didn't.", "none"),
        ("The answer would be B if the lamp had moved, but it did not.", "none"),
        ("B would be the answer if the bowl had moved.", "none"),
        ("One might pick (B), but that is incorrect.", "none"),
        ("Many would choose D, but it is wrong.", "none"),
        ("the answer seems to be B, but that's wrong", "none"),
        ("I refuse to choose B.", "none"),
        ("I hesitate to choose B.", "none"),
        ("没有选B的理由。", "none"),
        ("很多人会选B，但这是错误的。", "none"),
        ("无法确定答案是A还是B。", "refused"),
        ("其他都没有变化所以选B", "B"),
        ("The distractor is B.", "none"),
        ("The identical one is B.", "none"),
        ("The unchanged option is B.", "none"),
        ("The incorrect option is (A).", "none"),
        ("The answer is B with probability 10%, and C with probability 90%.", "none"),
        ("There is no doubt that the answer is B.", "B"),
        ("If I had to choose, the answer is B.", "B"),
    ],
)
def test_what_is_denied_doubted_supposed_or_left_to_others_is_not_declared(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("B。它们不是同一物体。", "B"),
        ("A。两张图片相同。", "A"),
        ("B。因为A没有变化。", "B"),
        ("B。理由：选项A没有变化。", "B"),
        ("因为A没有变化", "none"),
        ("选项A：杯子没有变化。", "none"),
        ("答案选 B，因为 A、C 没有变化。", "B"),
    ],
)
def test_chinese_marks_and_reasons_do_not_hide_the_letter_that_leads(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("1. **Option A**: The cup is the same.", "none"),
        ("The answer is A, which is identical in both images", "A"),
    ],
)
def test_an_option_that_is_said_to_be_unchanged_is_not_chosen(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("(A) shows no difference.", "none"),
        ("Region (A) is identical in both images.", "none"),
        ("Therefore, (A) is identical", "none"),
        ("Based on the images, region (B) has no differences.", "none"),
        ("In (A) there is no difference.", "none"),
        ("(D) No difference.", "D"),
        ("(D) shows no difference.", "D"),
        ("D: No difference. A, B and C are all the same.", "D"),
    ],
)
def test_no_difference_found_in_a_region_does_not_choose_it_and_the_option_that_says_so_is_chosen(
    reply: str, wanted: str
) -> None:
    assert said(read_reply(reply, BOXES)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("Use the format <answer>A</answer>.", "none"),
        ("Error code: 400 - {'error': {'param': 'A'}}", "error"),
        ("<html>502 Bad Gateway (B)", "error"),
        ("C: drive error", "none"),
        ("D: The images fail to load.", "refused"),
        ("The building sign reads 'B'.", "none"),
        ("A -> B", "none"),
        ("If the first image is the before state, the answer is B; otherwise the answer is C.", "none"),
    ],
)
def test_other_texts_with_a_capital_in_them_are_no_answer(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("I'd say A", "A"),
        ("Based on the images, C.", "C"),
        ("The answer is not A but C", "C"),
    ],
)
def test_less_common_ways_to_put_a_letter_forward_are_read(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS)) == wanted


@pytest.mark.parametrize(
    ("reply", "options", "wanted"),
    [
        ("No. I can't see any images in your message.", YES_NO, "refused"),
        ("No, as an AI I can't see images.", YES_NO, "refused"),
        ("No: image 2 is missing", YES_NO, "none"),
        ("Yes, I can help you with that. Please upload the images.", YES_NO, "none"),
        ("Yes! Let me look at the two images.", YES_NO, "none"),
        ("Yes, I see two images, but I can't tell whether they are the same.", YES_NO, "none"),
        ("Yes, No", YES_NO, "ambiguous"),
        ("Yes; no", YES_NO, "ambiguous"),
        ("Yes\n\nNo", YES_NO, "ambiguous"),
        ("No.\n\nActually, yes.", YES_NO, "ambiguous"),
        ("No, they look different at first, but they are the same, so yes.", YES_NO, "ambiguous"),
        ("Yes: A or B", YES_NO, "ambiguous"),
        ("Yes... (B) No.", YES_NO, "ambiguous"),
        ("Yes... actually no", YES_NO, "ambiguous"),
        ("Yes they show the same object", YES_NO, "A"),
        ("I'd say no", YES_NO, "B"),
        ("Yes。它们是同一物体。", YES_NO, "A"),
        ("B. No, they differ.", YES_NO, "B"),
        ("The answer is Yes. Actually, no.", YES_NO, "ambiguous"),
        ("Answer: B. No, the two differ.", YES_NO, "B"),
        ("A. They are identical.", YES_NO, "A"),
        ("No, the objects are not the same. There is no doubt.", YES_NO, "B"),
        ("Yes. A", NO_YES, "ambiguous"),
        ("Yes. B", NO_YES, "B"),
    ],
)
def test_yes_or_no_at_the_beginning_yields_to_what_follows(reply: str, options: dict[str, str], wanted: str) -> None:
    assert said(read_reply(reply, options)) == wanted


# Several letters


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("A and C.", "AC"),
        ("Both A and C", "AC"),
        ("A B C", "ABC"),
        ("A|C", "AC"),
        ("A, but not C", "A"),
        ("Answer: **A, C**\n\nA is right since it moved, B is wrong.", "AC"),
        ("A & C", "AC"),
        ("A/C", "AC"),
        ("A;C", "AC"),
        ("C, A", "AC"),
        ("A, C and D", "ACD"),
        ("A, C, A", "AC"),
        ("(A)(C)", "AC"),
        ("(A), (C)", "AC"),
        ("ACD", "ACD"),
        ("A. cup, C. plate", "AC"),
        ("- A\n- C", "AC"),
        ("1. A\n2. C", "AC"),
        ("A\n\nC", "AC"),
        ("- A. cup\n- D. fork\n\nBoth moved.", "AD"),
        ("A, C\n\nBoth moved.", "AC"),
        ("Both moved.\n\n- A. cup\n- C. plate", "AC"),
        ("B", "B"),
        ("Answer: AC", "AC"),
        ("Answer: A, C", "AC"),
        ("Answer: A. cup, C. plate", "AC"),
        ("Answer: A. cup\nC. plate", "AC"),
        ("**Answer:**\n\nA. cup\nC. plate", "AC"),
        ("Answer: cup and plate", "AC"),
        ("The correct options are:\n- **A. cup**\n- **C. plate**\n\nThe bowl stays.", "AC"),
        ("Options A and D are correct.", "AD"),
        ("A, C, and D are correct.", "ACD"),
        ("A is correct. B is wrong. C is also correct.", "AC"),
        ("\\boxed{A, C}", "AC"),
        ("\\boxed{A}, \\boxed{C}", "AC"),
        ('{"answer": ["A", "C"]}', "AC"),
        ("<answer>A,C</answer>", "AC"),
        ("答案：A、C", "AC"),
        ("A和C", "AC"),
        ("选A和D。", "AD"),
        ("A or C", "ambiguous"),
        ("The answer is A or C.", "ambiguous"),
        ("A-D", "ambiguous"),
        ("Option A is plausible, option C less so.", "ambiguous"),
        ("A, E", "invalid"),
        ("ABF", "invalid"),
        ("None of them.", "none"),
        ("BADLY", "none"),
    ],
)
def test_a_list_is_a_set_where_several_are_asked_for(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS, several=True)) == wanted


def test_an_options_own_text_goes_before_a_run_of_letters() -> None:
    assert said(read_reply("BAD", {"A": "good", "B": "bad", "C": "fair", "D": "none"}, several=True)) == "B"


@pytest.mark.parametrize("reply", ["A and C", "Answer: A, C", "A/B", "Answer: AC", "A. cup\nC. plate"])
def test_two_letters_are_ambiguous_where_one_is_asked_for(reply: str) -> None:
    assert read_reply(reply, THINGS).outcome is Outcome.ambiguous


# Boxes and conflicts


@pytest.mark.parametrize(
    "reply",
    [
        "(C) [379, 643, 751, 712] in figure 1 and [379, 643, 751, 712] in figure 2",
        "C. <box>[[379, 643, 751, 712]]</box> in figure 1 and <box>[[379, 643, 751, 712]]</box> in figure 2",
        "C. <|box_start|>(379,643),(751,712)<|box_end|> in figure 1",
        "C. (379,643),(751,712) in figure 1 and (379,643),(751,712) in figure 2",
        "C. <|det|>[[379, 643, 751, 712]]<|/det|> in figure 1",
        "C. lamp[[379, 643, 751, 712]] in figure 1 and lamp[[379, 643, 751, 712]] in figure 2",
        "The correct answer is:\n\n(C) [379,643,751,712] in figure 1 and [379,643,751,712] in figure 2.",
        "[379, 643, 751, 712] in figure 1 and [379, 643, 751, 712] in figure 2",
        "The answer is [379, 643, 751, 712] in figure 1 and [379, 643, 751, 712] in figure 2.",
        "Option (C) [379, 643, 751, 712] in figure 1 and [379, 643, 751, 712] in figure 2 is the correct answer.",
    ],
)
def test_boxes_are_read_in_every_format(reply: str) -> None:
    assert read_reply(reply, BOXES).letters == ("C",)
    assert not read_reply(reply, BOXES).conflict


@pytest.mark.parametrize(
    "template", ["<|box_start|>({}),({})<|box_end|>", "<box>[[{}, {}]]</box>", "<|det|>[[{}, {}]]<|/det|>"]
)
def test_the_boxes_of_the_options_may_have_another_format_than_those_of_the_reply(template: str) -> None:
    options = {letter: template.format(f"{n},2", f"{n + 9},40") for n, letter in enumerate("ABCD")}
    assert said(read_reply("[2, 2, 11, 40]", options)) == "C"
    assert said(read_reply("Answer: C. [2, 2, 11, 40]", options)) == "C"


@pytest.mark.parametrize(
    ("reply", "options", "conflict"),
    [
        ("B. Yes", YES_NO, True),
        ("B. No", YES_NO, False),
        ("B. plate", THINGS, True),
        ("Answer: B. plate", THINGS, True),
        ("Answer: B. bowl", THINGS, False),
        ("B. It is round.", THINGS, False),
        ("(B) [379, 643, 751, 712]", BOXES, True),
        ("(B) [98, 0, 806, 402]", BOXES, False),
        ("(B) [1, 2, 3, 4] in figure 1", BOXES, False),
        (
            "The correct answer is:\nB. [379, 643, 751, 712] in figure 1 and [379, 643, 751, 712] in figure 2",
            BOXES,
            True,
        ),
    ],
)
def test_another_options_text_beside_the_letter_is_a_conflict_and_the_letter_counts(
    reply: str, options: dict[str, str], conflict: bool
) -> None:
    reading = read_reply(reply, options)
    assert (reading.letters, reading.conflict) == (("B",), conflict)


# Chain of thought


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("The cup moved.\n\nAnswer: B", "B"),
        ("First the cup. Therefore, the answer is (C).", "C"),
        ("First the cup.\nThen the bowl.\nB", "B"),
        ("First the cup. Therefore, the thing that moved is (C).", "C"),
        ("Option A stays. C is correct.", "C"),
        ("B", "B"),
        ("Let me think. First the cup.", "truncated"),
        ("Option B shows the bowl, which", "truncated"),
        ("B\n\nThe bowl is on the left, and", "truncated"),
        ("No, the two are", "truncated"),
        ("The answer is none of these.", "none"),
        ("The answer is A or B.", "ambiguous"),
        ("I'm sorry, I can't help with that.", "refused"),
        ("failed", "error"),
        ("", "empty"),
    ],
)
def test_a_chain_of_thought_must_reach_its_answer(reply: str, wanted: str) -> None:
    assert said(read_reply(reply, THINGS, chain_of_thought=True)) == wanted


# What holds for every reply

PIECES = [
    *"ABCDEabc.,:;()[]{}*\n -/'\"?",
    *(
        "answer",
        "The answer is ",
        "option ",
        "not ",
        "correct",
        " or ",
        " and ",
        "cup",
        "bowl",
        "Yes",
        "No",
        "because ",
    ),
    *("<think>", "</think>", "<answer>", "</answer>", "\\boxed{", "}", "**", "```", '{"answer": "', "[1, 2, 3, 4]"),
    *(
        "选",
        "答案是",
        "不",
        "是",
        "。",
        "Therefore, ",
        "none of the ",
        "I'm sorry",
        "<|im_end|>",
        "Ｂ",
        "N/A",
        "\u200b",
    ),
]
any_reply = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
any_options = st.one_of(
    st.sampled_from([FOUR, THINGS, YES_NO, NUMBERS, BOXES, SAME, TEN]),
    st.lists(st.one_of(st.none(), st.text(max_size=12)), min_size=2, max_size=26).map(
        lambda texts: dict(zip(string.ascii_uppercase, texts, strict=False))
    ),
)


@given(any_reply, any_options, st.booleans(), st.booleans())
def test_every_reply_gets_a_reading_that_holds_together(
    reply: str, options: dict[str, str | None], several: bool, chain: bool
) -> None:
    reading = read_reply(reply, options, several=several, chain_of_thought=chain)
    assert reading.outcome.value in OUTCOMES
    assert (reading.outcome is Outcome.parsed) == bool(reading.letters)
    assert list(reading.letters) == [letter for letter in options if letter in reading.letters]
    assert several or len(reading.letters) <= 1
    assert not reading.conflict or len(reading.letters) == 1
    assert bool(reading.rule) or not reading.letters


@given(any_reply, any_options, st.booleans())
def test_a_reading_does_not_depend_on_blanks_around_the_reply_or_on_the_call(
    reply: str, options: dict[str, str | None], several: bool
) -> None:
    reading = read_reply(reply, options, several=several)
    assert read_reply(f" \n{reply}\n ", options, several=several) == reading
    assert read_reply(reply, options, several=several) == reading


@given(st.sampled_from("ABCD"), st.permutations(["cup", "bowl", "plate", "fork"]))
def test_a_declared_text_follows_its_option_wherever_it_stands(letter: str, texts: list[str]) -> None:
    options = dict(zip("ABCD", texts, strict=True))
    for form in (
        "{text}",
        "The answer is {text}.",
        "Answer: the {text}",
        "{letter}. {text}",
        "<answer>{text}</answer>",
    ):
        assert said(read_reply(form.format(letter=letter, text=options[letter]), options)) == letter


@given(st.sets(st.sampled_from("ABCD"), min_size=1), st.permutations("ABCD"))
def test_a_list_is_read_alike_in_any_order(chosen: set[str], order: list[str]) -> None:
    letters = [letter for letter in order if letter in chosen]
    for form in (", ".join(letters), "\n".join(letters), "".join(letters), "Answer: " + " and ".join(letters)):
        assert said(read_reply(form, THINGS, several=True)) == "".join(sorted(chosen))


@given(st.sampled_from("ABCD"))
def test_what_is_said_within_reasoning_never_counts(letter: str) -> None:
    assert read_reply(f"<think>The answer is {letter}.</think>I cannot tell them apart.", FOUR).letters == ()


PATTERNS = (
    *(
        "A",
        "A ",
        "A, ",
        "A or ",
        "(A) ",
        "A. cup\n",
        "- A\n",
        "A?",
        "A)",
        ": A",
        "=A",
        "is A, B ",
        "**A**",
        "A是",
        "选A",
    ),
    *(
        "answer: ",
        "answer is A. ",
        "Therefore, option A ",
        "A is not ",
        "not ",
        "n't ",
        "the the ",
        "word ",
        "::::",
        " ",
    ),
    *("\n", "((((", "{", '{"answer": ', "\\boxed{", "\\boxed{A}", "<think>", "</think>", "<think></think>", "<answer>"),
    *("<|begin_of_box|>", "[1, 2, 3, ", "[1, 2, 3, 4]", "(1,2),(", "```\n", "\ufdfa", "\u200b", "Failed to retrieve "),
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", PATTERNS)
@pytest.mark.parametrize("options", [THINGS, {letter: "word " * 100 + letter for letter in string.ascii_uppercase}])
def test_a_hundred_thousand_signs_are_read_within_seconds(piece: str, options: dict[str, str]) -> None:
    reply = (piece * (100_000 // len(piece) + 1))[:100_000]
    start = time.process_time()
    read_reply(reply, options, several=True)
    assert time.process_time() - start < 3


def test_an_overlong_reply_is_read_at_its_end_and_never_by_its_weakest_evidence() -> None:
    filling = "The bowl is seen here. " * 2_000
    assert said(read_reply(f"{filling}\n\nThe answer is B.", THINGS)) == "B"
    assert said(read_reply(f"{filling}\n\nOption A: {filling}", THINGS)) == "none"
    assert said(read_reply(f"<think>{filling}</think>B", THINGS)) == "B"


@pytest.mark.parametrize(
    ("reply", "letters", "outcome"),
    [
        ("The answer is A and C. D is also correct.", "", "ambiguous"),
        ("Answer: A. Also D.", "", "ambiguous"),
        ("Answer: A (and C)", "", "ambiguous"),
        ("The answer is A and C. A is right because it moved. C is right because it is gone.", "AC", "parsed"),
        ("A is right. C is right.", "AC", "parsed"),
        ("Answer: A, C. B is wrong because it did not move.", "AC", "parsed"),
    ],
)
def test_of_several_letters_one_that_comes_behind_a_list_is_not_taken_for_all_of_them(
    reply: str, letters: str, outcome: str
) -> None:
    options = {"A": "cup", "B": "bowl", "C": "plate", "D": "fork"}
    found = read_reply(reply, options, several=True)
    assert ("".join(found.letters), found.outcome.value) == (letters, outcome)


# --- chains that were cut off, and options that begin like filler --------------------------------------------------

CHAIN = (
    "Stage 1, each view alone.\n\nView 0: from this view alone the answer would be A.\n\n"
    "View 1: Here the answer is C, as the cup is hidden.\n\nScene graph 1: the cup is on the shelf.\nAnswer: A\n\n"
    "Scene graph 2: seen from the other side, the plate lies in front of it, so that the answer is C.\n\n"
    "Stage 3\nA. cup: no, it is hidden\nB. bowl: yes\nC. plate: no\nD. fork: no\n\n"
)


@given(st.integers(5, len(CHAIN) - 1))
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.filter_too_much], max_examples=400)
def test_a_chain_that_is_cut_within_a_sentence_has_no_answer_whatever_it_concluded_before(length: int) -> None:
    cut = CHAIN[:length].rstrip()
    assume(cut[-1:].isalnum() and CHAIN[len(cut)] == " ")
    assert read_reply(cut, THINGS, chain_of_thought=True).letters == ()


@pytest.mark.parametrize("remark", ["", "\n\n(The views are mirrored, which was taken into account.)", "\n\n---", "."])
def test_a_whole_chain_is_read_with_a_closing_remark(remark: str) -> None:
    assert read_reply(f"{CHAIN}Answer: B{remark}", THINGS, chain_of_thought=True).letters == ("B",)


def test_conclusions_of_earlier_stages_do_not_count_once_the_chain_goes_on() -> None:
    for rest in ("\n\nScene graph 2: the last view shows a plate.", "\n\n" + "The view shows a plate. " * 40):
        assert read_reply(f"Answer: A{rest}", THINGS, chain_of_thought=True).outcome.value == "truncated"


@pytest.mark.parametrize(
    "texts", [("The cone", "The barrel"), ("The correct box", "The final box"), ("A cone", "A box")]
)
@pytest.mark.parametrize("form", ["Answer: {}", "The answer is {}.", "Thinking.\n\nAnswer: {}"])
def test_an_option_that_begins_with_a_word_of_filler_is_read_by_its_text(texts: tuple[str, str], form: str) -> None:
    options = dict(zip("AB", texts, strict=True))
    for letter, text in options.items():
        assert read_reply(form.format(text), options).letters == (letter,)
