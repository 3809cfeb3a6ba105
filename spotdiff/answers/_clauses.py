"""What the words of a sentence do to a letter among them: they ask for it, deny it, doubt it or only suppose it."""

from __future__ import annotations

import re

_HEAD_START = re.compile(r".*(?:[.!?:](?=\s)|[;\n。！？；])", re.DOTALL)
_CLAUSE_START = re.compile(
    r".*(?:,|\b(?:so|but|hence|thus|therefore|because|while|whereas)\b|所以|因此|故|但|而)", re.DOTALL | re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)|[。！？\n]")

_POSITIVE = re.compile(r"\b(?:correct|best|suitable|appropriate|closest)\b", re.IGNORECASE)
_DENYING = re.compile(
    r"""\b(?:not|never|no(?!\s(?:doubt|question)\b)|neither|nor|none|cannot|wrong|incorrect|worst|false|least|unlikely|rather|except|instead|eliminat\w*
        |exclud\w*|rul(?:e|ed|ing)\sout|reject\w*|discard\w*)\b
    |n't\b|不|非|错|排除""",
    re.VERBOSE | re.IGNORECASE,
)
_DENIED_LINK = re.compile(
    r"""(?:\b(?:not|cannot|never|hardly|unlikely\sto)|n't)\s?$
    |\b(?:distractor|(?:wrong|incorrect|false|invalid|unchanged|identical|unaltered)\s(?:option|choice|answer|one)s?)\s?$""",
    re.VERBOSE | re.IGNORECASE,
)
_DENIED_SUBJECT = re.compile(
    r"""\b(?:distractor|(?:wrong|incorrect|false|invalid|unchanged|identical|unaltered)\s(?:option|choice|answer|one|region)s?
        |(?:not|n't)\s(?:change|move|differ|alter)\w*)\s(?:is|are|would\sbe)\W*$""",
    re.VERBOSE | re.IGNORECASE,
)
# Words by which a speaker keeps away from what follows, or leaves it to others.
_DOUBTING = re.compile(
    r"""(?:n't|\bnot|\bnever|\bcannot|\bhardly)\s(?:\w+\s){0,2}?(?:think|believe|say|agree|conclude|mean|sure|certain|clear
        |convinced|confirm|verify|claim|guarantee|obvious|evident|that)\b
    |(?<!no\s)(?<!without\s)(?<!without\sa\s)\b(?:doubt(?:ful)?|disagree)\b
    |\b(?:nothing|no\s(?:evidence|reason|indication|sign|proof))\s(?:\w+\s){0,2}?(?:suggests?|indicates?|shows?|implies|that|to)\b
    |\b(?:hard|difficult|impossible|wrong|tempt\w+|unclear|unlikely|unsure|uncertain|false|mistake)\s(?:to|that|whether|if)\b
    |\b(?:refus|hesitat|declin|avoid)\w*(?:\s\w+)?\s?$
    |\b(?:one|many|some|most|few|others|people|you|users?|observers?|models?)\s(?:\w+\s)?(?:might|may|could|would)\s
        (?:\w+\s){0,3}?$
    |\b(?:you|users?|models?|examples?)\s(?:said|says?|claims?|claimed)\b
    |没有|无法|难以|不能|不确定|不会|很多人|有人|有些人|请""",
    re.VERBOSE | re.IGNORECASE,
)
_SUPPOSING = re.compile(
    r"""\b(?:if|whether|unless|suppose|supposing|assuming|assume|otherwise|in\sorder\sfor)\b[^,]*$
    |^\W*(?:if|assuming)\b(?!\s(?:i|we|you|one|forced|asked|pressed)\b)
    |如果|假如|假设|要是""",
    re.VERBOSE | re.IGNORECASE,
)
_CONDITION = re.compile(
    r"""[\s)"',]{0,3}(?:\b(?:only|but\sonly)\s)?\b(?:if|unless|had|provided\sthat)\b(?!\s(?:i|forced|asked|any|not)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"""[^.!?\n;。]{0,60}?(?:\b(?:that|this|it|which)(?:'s|\s(?:is|was|would\sbe|seems|turns\sout\sto\sbe))\s
        (?:\w+\s)?(?:wrong|incorrect|false|mistaken|not\s(?:correct|right|true))\b
    |\b(?:that|this|it|which)\s(?:isn't|wasn't)\s(?:correct|right|true|it)\b
    |^\s?would\sbe\s(?:wrong|incorrect|a\smistake)
    |[但可]是?(?:这|那|它|其实)?(?:是|也)?(?:错|不对|不正确))""",
    re.VERBOSE | re.IGNORECASE,
)
_LESS_THAN_HALF = re.compile(
    r"""[\s(,]{0,3}(?:with\s)?(?:an?\s)?(?:probability|likelihood|chance|confidence)\s(?:of\s|is\s)?
    (?:[1-4]?\d(?:\.\d+)?\s?%|0?\.[0-4]\d*)""",
    re.VERBOSE | re.IGNORECASE,
)


def head_of(text: str, end: int) -> str:
    """What the sentence says before this position."""
    before = text[max(0, end - 240) : end]
    start = _HEAD_START.match(before)
    return before[start.end() :] if start else before


def is_denying(head: str) -> bool:
    """Whether the clause before a link says what the answer is not (`the best one, which is not red, is` does not)."""
    if is_doubting(head) or _DENIED_LINK.search(head):
        return True
    denying = [match.start() for match in _DENYING.finditer(head)]
    if not denying:
        return False
    positive = _POSITIVE.search(head)
    return not (positive and positive.start() < denying[0]) and denying[-1] >= _clause_start(head)


def has_denial(sentence: str) -> bool:
    """Whether any word of a sentence denies something."""
    return bool(_DENYING.search(sentence))


def is_doubting(head: str) -> bool:
    """Whether the last clause of these words doubts what follows, or leaves it to others (`many would choose`)."""
    return bool(_DOUBTING.search(head, _clause_start(head)))


def is_denied_subject(head: str) -> bool:
    """Whether the subject of `.. is` is what was not asked for (`the wrong option is`, `what did not move is`)."""
    return bool(_DENIED_SUBJECT.search(head))


def is_supposing(head: str) -> bool:
    """Whether these words make a condition of what follows, and do not only lead to a choice (`if I had to choose`)."""
    return bool(_SUPPOSING.search(head))


def is_undercut(text: str, position: int) -> bool:
    """Whether the sentence goes on to take back what it just said (`.. if it had moved`, `.. but that is wrong`)."""
    return any(words.match(text, position) for words in (_CONDITION, _TAKEN_BACK, _LESS_THAN_HALF))


def is_question(text: str, position: int) -> bool:
    """Whether the sentence that goes on here ends with a question mark."""
    end = _SENTENCE_END.search(text, position, position + 300)
    return end is not None and text[end.start()] in "?？"


def _clause_start(head: str) -> int:
    clause = _CLAUSE_START.match(head)
    return clause.end() if clause else 0
