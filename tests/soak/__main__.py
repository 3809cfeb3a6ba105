"""`python tests/soak`: what the tests do a few times, many times. Each soak is a module with `soak(times, seed)`.

A soak returns what it saw as one line, or raises AssertionError; the seed that failed is shown.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "e2e"), str(ROOT / "tests" / "media")]

import journal  # noqa: E402
import vlmeval_kills  # noqa: E402

SOAKS = {"journal": journal.soak, "vlmeval": vlmeval_kills.soak}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tests/soak", description="Run tests for longer than a test may take.")
    parser.add_argument("--only", choices=SOAKS, action="append", help="this soak, not all")
    parser.add_argument("--times", type=int, default=20, help="how often a run is disturbed (20)")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn follows from it (1)")
    found = parser.parse_args()
    for name in found.only or SOAKS:
        print(f"{name}, seed {found.seed}: ", end="", flush=True)
        print(SOAKS[name](found.times, found.seed), flush=True)


if __name__ == "__main__":
    main()
