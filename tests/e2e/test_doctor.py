"""The doctor on the installation that runs these tests, with one version made bad."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e


def doctor(folder: Path, **environment: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and findings."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("spotdiff")), "doctor", "--json"],
        env={**os.environ, "SPOTDIFF_DATA": str(folder), "SPOTDIFF_MEDIA_CACHE": str(folder), **environment},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    return done.returncode, json.loads(done.stdout)["findings"]


def test_a_bad_version_is_the_only_fault_of_an_installation_that_is_sound_otherwise(tmp_path: Path) -> None:
    info = tmp_path / "site" / "filelock-4.3.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: filelock\nVersion: 4.3.1\n")
    code, findings = doctor(tmp_path, PYTHONPATH=str(tmp_path / "site"))
    (fault,) = [finding for finding in findings if finding["mark"] == "fault"]
    assert fault["text"].startswith("filelock 4.3.1")
    assert fault["remedy"] == "pip install 'filelock<4.3'"
    assert code == 1
    for group in ("lmms-eval", "VLMEvalKit"):
        texts = [finding["text"] for finding in findings if finding["group"] == group]
        # A busy machine may not answer in time.
        assert any("tasks of spotdiff are there" in text or "no answer within" in text for text in texts)
