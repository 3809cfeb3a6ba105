"""`python tests/bench`: measure spotdiff beside another way to the same result, print a table, write build/bench.json.

Every measurement is a module with a function `measure(options) -> list[Row]`; it is named in MEASUREMENTS.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import frames
import journal
import media
import overheads
import report
import similarity
import tables
from rows import Options, as_table, write_json

MEASUREMENTS = {
    "similarity": similarity.measure,
    "tables": tables.measure,
    "report": report.measure,
    "journal": journal.measure,
    "frames": frames.measure,
    "media": media.measure,
    "overheads": overheads.measure,
}


def main() -> None:
    options, names, target = _parsed()
    rows = [row for name in names for row in MEASUREMENTS[name](options)]
    print(as_table(rows))
    write_json(rows, target)
    print(f"\nwritten to {target}")


def _parsed() -> tuple[Options, list[str], Path]:
    parser = argparse.ArgumentParser(prog="python tests/bench", description="Measure spotdiff.")
    parser.add_argument("--only", choices=MEASUREMENTS, action="append", help="this measurement, not all")
    parser.add_argument("--questions", type=int, default=1000, help="questions of a measurement (1000)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each side; the median is shown (3)")
    parser.add_argument("--tiny", action="store_true", help="models of next to no size: to try the measurements")
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"), help="JSON file of the results")
    found = parser.parse_args()
    if found.questions < 1 or found.runs < 1:
        parser.error("--questions and --runs are 1 or more")
    return Options(found.questions, found.runs, found.tiny), found.only or list(MEASUREMENTS), found.output


if __name__ == "__main__":
    main()
