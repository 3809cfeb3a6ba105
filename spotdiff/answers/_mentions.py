"""Every place where a reply names letters, and what the words around it say of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spotdiff.answers._clauses import (
    head_of,
    is_denied_subject,
    is_doubting,
    is_question,
    is_supposing,
    is_undercut,
)
from spotdiff.answers._items import Group, group_at
from spotdiff.answers._model import Options

_START = re.compile(
    r"""(?<![A-Za-z0-9_'/])(?:(?=(?:(?:the\s)?(?:options?|choices?)|选项)[\s:]{0,3}["'(\[]?[ ]?[A-Za-z](?![A-Za-z0-9]))
    |(?=["'(\[{<【「《]{0,3}[ ]?[A-Z](?![A-Za-z0-9])))""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE_LOWER = re.compile(r"""["'(\[{<【「《 ]{0,4}[a-z](?![A-Za-z0-9])""")
_LINE_HEAD = re.compile(r"(?:^|\n)[ \t]*(?:[-•>+\u2013]\s{0,3})?(?:\d{1,2}[.)]\s{1,3})?$")

# What may stand between a letter and the words that judge it: its box, `in figure 1`, a comma.
_ASIDE = r"""(?:[ ,:)("']|[.](?=[ ]\[)|\[[\d ,.-]{5,60}\]|\b(?:figures?|images?)\b[ -]?\d?
    |\b(?:in|from|of)[ ](?:the[ ])?(?:first|second|both|figures?|images?|pictures?)\b[ -]?\d?
    |\b(?:and|both|for|box(?:es)?|bounding|pairs?|region|therefore|thus|the|one|in[ ]this[ ]case)\b){0,24}"""
_ADVERB = r"""(?:(?:clearly|definitely|likely|probably|indeed|also|actually|still|certainly|simply|thus|therefore
    |overall|best|then|all|both|not[ ]only)[ ]){0,2}"""
_COPULA = r"""(?:is|are|seems?|appears?|looks|would[ ]be|should[ ]be|must[ ]be|has[ ]to[ ]be|will[ ]be|remains?)[ ]
    (?:to[ ]be[ ]|like[ ]|as[ ])?"""
_ONE = r"""(?:answers?|options?|choices?|ones?|match(?:es)?|fit|candidates?|selections?|pairs?|regions?|solutions?
    |picks?|correspond\w*)"""
_END = r"(?:[ ]?[.,;!)]|[ ]?$|\n|[ ](?:because|since|as|and|here)\b)"
_AFFIRMED = re.compile(
    rf"""{_ASIDE}(?:
    {_COPULA}{_ADVERB}(?:the[ ]|an?[ ]|my[ ])?(?:only[ ]|single[ ]|final[ ])?(?:
        correct\b(?![ ](?:in|that|about)\b)
        |right(?=[ ]{_ONE}|{_END})
        |best(?=[ ]{_ONE}|[ ](?:example|representation|description|guess|semantic|possible|overall|supported)|{_END})
        |(?:most|more)[ ](?:likely|accurate|appropriate|plausible|suitable|reasonable|probable|fitting|relevant
            |precise)\b
        |(?:closest|best[ -]fitt\w+|better)[ ]{_ONE}
        |(?:final[ ])?answer\b)
    |(?:should|could|would|must|can|will|is|are)[ ](?:therefore[ ]|thus[ ])?(?:be[ ])?(?:selected|chosen|picked)\b
    |(?:as[ ]|making[ ]it[ ])(?:the[ ])(?:correct|right|best|final)[ ]{_ONE}
    |[ ]?[:(\u2013\u2014-]{{1,3}}[ ]?(?:this[ ]is[ ])?(?:the[ ])?correct\b
    |best[ ](?:align|match|represent|fit|captur|correspond|describ|show|maintain|reflect|illustrat|answer|satisf)\w*\b
    |(?:选项|项)?(?:是|为)?(?:唯一)?(?:的)?(?:正确|最合适|最符合|对的))""",
    re.VERBOSE | re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    rf"""{_ASIDE}(?:
    (?:is|are|was|were|seems?|appears?|looks|would[ ]be|can[ ]be|could[ ]be|must[ ]be|should[ ]be)[ ](?:to[ ]be[ ])?
        (?:\w+[ ]){{0,2}}?(?:not|never|wrong|incorrect|false|invalid|unlikely|impossible|eliminated|excluded|ruled[ ]out
        |out|discarded|rejected|inaccurate|neither|less[ ]likely)\b
    |(?:is|are|do|does|did|was|were|ca|could|would|should|wo)n't\b
    |(?:do|does|did|can|could|would|should|will|must|may|might)[ ]?not\b
    |(?:选项|项)?(?:都|均)?(?:是|为)?(?:不|错|有误|排除))
    |[ ]?[:(\u2013\u2014-]{{1,3}}[ ]?(?:clearly[ ]|this[ ]is[ ])?(?:wrong|incorrect|false|no|not)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    r"""(?:\b(?:not|neither|nor|never|except|than|excluding|unlike|without|instead[ ]of|as[ ]opposed[ ]to|cannot)\b
    |n't\b|\breads\b
    |\bnon-|\b(?:exclud|eliminat|reject|discard|dismiss|ignor)\w*|\brul(?:e|es|ed|ing)[ ]out|\bnone[ ]of\b
    |不是|不选|不能选|并非|排除|除了|而非)
    [ ]?(?:(?:the|these|those|any|either|both|all|of|in|is|are|be|for|among|one|by|with|listed|given|provided|available
    |option|options|choice|choices|answer|correct|choose|select|pick|selecting|choosing)\b[ ]?){0,6}["'(\[:,]?[ ]?$""",
    re.VERBOSE | re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|whether|unless|suppose|supposing|assuming|assume|why|had|were)\b[^.,;:\n]{0,30}$", re.IGNORECASE
)
_SAME = r"(?:the[ ]same(?![ ]\w+[ ]as)(?=[ ]in[ ]both|[ ]?[.,;]|[ ]?$|\n)|identical|unchanged|unaltered)"
_NO_CHANGE = re.compile(r"\bno\s(?:\w+\s)?(?:differences?|changes?)\b|没有(?:变化|区别|不同)", re.IGNORECASE)
_UNCHANGED = re.compile(
    rf"""[ )"'\]]{{0,3}},?[ ]?(?:
    (?:is|are|remains?|stays?|looks?|appears?)[ ](?:\w+[ ]){{0,2}}?{_SAME}\b
    |(?:is|are)[ ]the[ ]only[ ]unchanged
    |(?:shows?|has|have|there[ ](?:is|are))[ ]no[ ](?:\w+[ ])?(?:differences?|changes?)\b
    |中?的?[\u4e00-\u9fff]{{0,6}}?(?:没有|无|未)(?:变化|区别|不同|改变|变))""",
    re.VERBOSE | re.IGNORECASE,
)
_NAMED_OPTION = re.compile(r"""[ ]?(?:\(|["'\[]?(?:the\s)?(?:option|choice|选项))""", re.IGNORECASE)
_UNCHANGED_BEHIND = re.compile(
    rf"[ ]?:[ ]?[^.\n。]{{0,60}}?(?:(?:is|are|remains?|stays?)[ ]{_SAME}|没有变化|没有区别)", re.IGNORECASE
)
_NO_CHANGE_IN = re.compile(
    r"""\bno\s(?:\w+\s)?(?:differences?|changes?)\s(?:\w+\s){0,3}?(?:in|at|within|for)\s(?:the\s)?(?:region\s|option\s)?["'(\[]?$""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A group of letters in the text.

    labels: it begins a line, as an option does in a list. negated: the words around say that it is not the answer.
    affirmed: they say that it is.
    """

    group: Group
    labels: bool
    negated: bool
    affirmed: bool

    @property
    def letter_like(self) -> bool:
        """Whether the form alone tells a letter of choice from any other capital."""
        return any(item.strong for item in self.group.items) or (self.labels and self.group.items[0].labelled)


def mentions(text: str, options: Options) -> list[Mention]:
    """All mentions, in order."""
    found: list[Mention] = []
    position = 0
    while match := _START.search(text, position):
        position = match.start() + 1
        group = group_at(text, match.start(), options)
        if group is None or (not group.items[0].strong and _BARE_LOWER.match(text, match.start())):
            continue
        found.append(_mention(text, group, options))
        position = group.end
    return found


def _mention(text: str, group: Group, options: Options) -> Mention:
    before, head = text[max(0, group.start - 60) : group.start], head_of(text, group.start)
    judged = _AFFIRMED.match(text, group.end)
    negated = (
        bool(_DENIED_BEFORE.search(before))
        or denied_at(text, group.end)
        or is_denied_subject(head)
        or is_doubting(head)
        or is_undercut(text, judged.end() if judged else group.end)
        or unchanged_at(text, group, options)
    )
    affirmed = bool(judged) and not (
        negated or is_supposing(head) or _SUPPOSED.search(before) or is_question(text, group.end)
    )
    return Mention(group, starts_line(text, group.start), negated, affirmed)


def starts_line(text: str, position: int) -> bool:
    """Whether only a bullet or a number stands before it on its line."""
    return bool(_LINE_HEAD.search(text[max(0, position - 12) : position])) or position == 0


def denied_at(text: str, position: int) -> bool:
    """Whether the words that follow say that what was just named is not the answer."""
    return bool(_DENIED_AFTER.match(text, position))


def unchanged_at(text: str, group: Group, options: Options) -> bool:
    """Whether the words around a letter say that nothing differs there, and it is no option that says so itself."""
    if options.yes_or_no or any(_NO_CHANGE.search(options.texts.get(letter, "")) for letter in group.letters):
        return False
    return bool(
        _UNCHANGED.match(text, group.end)
        or _NO_CHANGE_IN.search(text, max(0, group.start - 60), group.start)
        or (_NAMED_OPTION.match(text, group.start) and _UNCHANGED_BEHIND.match(text, group.end))
    )
