"""`vlmeval replay`: score stored replies through VLMEvalKit's evaluation mode."""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from spotdiff.errors import SettingError
from spotdiff.replay import Replies, load_replies
from vlmeval_ext import names
from vlmeval_ext.files import write_whole
from vlmeval_ext.loading import Loaded, load
from vlmeval_ext.running import import_framework, run


def replay(words: Sequence[str]) -> int:
    """Store the replies where VLMEvalKit looks for predictions, score them, and return the exit code of `vlmeval run`.

    The run is named after the model with `_replay` behind it, so that it never mixes with a run of the model itself.
    Raises SpotdiffError when the replies cannot be used; every question without a reply is named.
    """
    given = _parsed(words)
    if given.data not in names.ours():
        raise SettingError(f"There is no data set {given.data!r} of spotdiff; vlmeval list shows them")
    replies = load_replies(given.path, given.model)
    name = f"{given.name or given.model or given.path.name.split('.')[0]}_replay"
    loaded = load(given.data, [name], media=False)
    replies.check(question for _, question in loaded.questions())
    os.environ["PRED_FORMAT"] = "tsv"
    framework = import_framework()
    # VLMEvalKit prefers this variable to --work-dir.
    folder = Path(os.environ.get("MMEVAL_ROOT", given.work_dir), name)
    file = Path(framework.get_pred_file_path(str(folder), name, given.data, use_env_format=True))
    write_whole(file, _table(loaded, replies))
    # Without --keep-failed VLMEvalKit would not score a file with a failed request in it.
    where = ["--mode", "eval", "--keep-failed", "--work-dir", str(given.work_dir)]
    return run(["--data", given.data, "--model", name, *where])


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("vlmeval replay", description="Score stored replies.")
    parser.add_argument("--data", required=True, help="a data set of spotdiff")
    parser.add_argument("--path", required=True, type=Path, help="file or folder of replies")
    parser.add_argument("--model", help="whose replies to take, where the file holds several models'")
    parser.add_argument("--name", help="what to call the model; tells how it writes boxes")
    parser.add_argument("--work-dir", type=Path, default=Path("outputs"), help="where VLMEvalKit writes")
    return parser.parse_args(words)


def _table(loaded: Loaded, replies: Replies) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(("index", "prediction"))
    writer.writerows((index, replies.by_id[question.id]) for index, question in loaded.questions())
    return text.getvalue()
