"""`report.html`: a report to look at, in one file that asks no network.

It needs matplotlib and jinja2, the extra `report`. All text comes in escaped; a Content-Security-Policy allows the
page's own script and style and pictures within it, nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from spotdiff.errors import SettingError
from spotdiff.runs.report import Report

NAME = "report.html"

_HERE = Path(__file__).parent


def write_page(report: Report, folder: Path, thumbnails: float = 0) -> Path:
    """Write `report.html` into the folder and return its path.

    thumbnails: megabytes (10**6 bytes) of small pictures of what the models saw, at most; 0 for none. They come from
    prepared or shipped data on this machine.
    Raises SettingError when matplotlib or jinja2 are not installed.
    """
    file = folder / NAME
    # A reply may hold half of a surrogate pair, which UTF-8 has no form for.
    file.write_text(page(report, thumbnails), encoding="utf-8", errors="backslashreplace", newline="")
    return file


def page(report: Report, thumbnails: float = 0) -> str:
    """The page as text; see `write_page`."""
    missing = missing_libraries()
    if missing:
        raise SettingError(f"{NAME}: {missing}")
    from spotdiff.runs.page.browser import browser_data, packed
    from spotdiff.runs.page.content import card, checks, contrasts, title
    from spotdiff.runs.page.drawing import marks
    from spotdiff.runs.page.lines import main_figures
    from spotdiff.runs.page.plots import plots
    from spotdiff.runs.page.sources import sources
    from spotdiff.runs.report import FULL

    found = sources(report, thumbnails)
    looks = marks(report)
    colours = [looks[run.label, FULL].colour for run in report.runs]
    data = browser_data(report, found)
    data["runs"] = [{"name": name, "colour": colour} for name, colour in zip(data["runs"], colours, strict=True)]
    style, script = (_HERE.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    text: str = _template().render(
        report=report,
        title=title(report.runs),
        policy=_policy(style, script),
        style=style,
        script=script,
        cards=[card(run, colour) for run, colour in zip(report.runs, colours, strict=True)],
        main={figures.name for figures in main_figures(report)},
        contrasts=contrasts(report),
        checks=checks(report),
        plots=plots(report),
        remarks=found.remarks,
        limit=data["limit"],
        data=packed(data),
        pictures=json.dumps(found.pictures) if found.pictures else "",
    )
    return text


def missing_libraries() -> str:
    """Which library that a page needs is not there, with the remedy; empty where none is missing."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        return f"it needs matplotlib and jinja2 ({error}). pip install 'spotdiff[report]'"
    return ""


def _policy(style: str, script: str) -> str:
    """Nothing is loaded and nothing runs but what stands in the page. Attributes of style are those of the plots."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    allowed = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
    return "{}; style-src 'sha256-{}'; style-src-attr 'unsafe-inline'; script-src 'sha256-{}'".format(allowed, *digests)


def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from spotdiff.reporting import percent
    from spotdiff.runs.markdown import shown
    from spotdiff.runs.page.content import side

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(percent=percent, shown=shown, own=Markup)
    environment.globals["side"] = side
    return environment.get_template("page.html")
