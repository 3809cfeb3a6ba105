"""What every table says in the same words: percentages, what became of the replies, which letters were chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spotdiff.scoring import (
    PARSED,
    Estimate,
    Mean,
    Scored,
    answered_only,
    letter_distribution,
    outcomes,
    overall,
    parsed_only,
)
from spotdiff.tasks import INPUTS, PARTIAL


def percent(share: float | None) -> str:
    """A share as a percentage with one decimal, `-` for None."""
    return "-" if share is None else f"{100 * share:.1f}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def half_width(part: Estimate | Mean) -> str:
    """Half of the 95 % interval, as a percentage; that of a mean of means by the normal distribution."""
    if isinstance(part, Mean):
        return percent(1.96 * part.stderr) if part.stderr else "-"
    interval = part.interval()
    return percent((interval[1] - interval[0]) / 2) if interval else "-"


def notes(rows: Sequence[Scored]) -> list[str]:
    """Outcomes of all replies, the mean over answered questions only, and predicted against gold letters."""
    if not rows:
        return ["No question was scored."]
    counts = outcomes(rows)
    unread = ", ".join(f"{name} {count}" for name, count in counts.items() if name != PARSED and count)
    said = f"Replies: {counts[PARSED]} of {len(rows)} parsed."
    if unread:
        over_parsed = percent(parsed_only(rows).mean)
        said += (
            f" The others score 0: {unread}. acc {percent(overall(rows).mean)} over all, {over_parsed} over the parsed."
        )
    failed = [row for row in rows if row.failed]
    if failed:
        classes = Counter(row.failure for row in failed if row.failure)
        kinds = ", ".join(f"{kind} {count}" for kind, count in classes.most_common())
        said += (
            f" {len(failed)} failed{f' ({kinds})' if kinds else ''}: without them acc_answered would be "
            f"{percent(answered_only(rows).mean)}."
        )
    bias = letter_distribution(rows)
    letters = ", ".join(
        f"{letter} {percent(entry.predicted_share)}/{percent(entry.gold_share)}"
        for letter, entry in bias.letters.items()
    )
    partial = sum(row.groups.get(INPUTS) == PARTIAL for row in rows)
    lacking = (
        [f"Texts: {partial} of {len(rows)} questions were asked without some that they rest on."] if partial else []
    )
    return [*lacking, said, f"Letters, predicted/gold in %: {letters}."]
