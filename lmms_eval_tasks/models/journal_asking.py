"""Requests of lmms-eval, answered from a journal, and by the model where the journal has no answer."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import traceback
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts, unwrap_generation_output

from lmms_eval_tasks.adapter import reported
from lmms_eval_tasks.models.journal_requests import Open, Waiting
from spotdiff.errors import SpotdiffError
from spotdiff.failures import failure_of
from spotdiff.journal import Journal, JournalError, Reply, message_digest
from spotdiff.journal.digest import Media
from spotdiff.secrets import without_secrets


class Asking:
    """`generate_until` of a model, a chunk at a time: the replies of one are on disk before the next is asked."""

    def __init__(self, model: Any, journal: Journal, identity: str, chunk: int) -> None:
        """identity: of the model and its arguments, a part of each key. chunk: number of requests."""
        self._model = model
        self._generate = model.generate_until
        self._journal = journal
        self._identity = identity
        self._chunk = chunk
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None
        self._say(f"{journal.kept} answers are kept, {journal.failures} failures will be asked again")

    def generate_until(self, requests: list[Instance]) -> list[Any]:
        """Replies in the order of the requests. Raises JournalError, and what messages and the model raise of ours."""
        return reported(self._replies)(requests)

    def _replies(self, requests: list[Instance]) -> list[Any]:
        self._journal.check_room(len(requests))
        # A request that only pads the number of a rank has a reply that nobody reads.
        replies: list[Any] = [""] * len(requests)
        waiting = Waiting()
        asked = failed = 0
        for place, request in enumerate(requests):
            if request.metadata.get("__padding_only__"):
                continue
            message = self._message(request)
            key = self._key(request, message)
            kept = self._journal.take(key)
            if kept is not None:
                replies[place] = _as_output(kept)
                continue
            waiting.add(Open(place, key, request), message)
            asked += 1
            if len(waiting.requests) == self._chunk:
                failed += self._ask(waiting, replies)
                waiting = Waiting()
        failed += self._ask(waiting, replies)
        self._wait_for_disk()
        self._say(f"{len(requests)} replies, {asked} of them asked for now, {failed} of those failed")
        return replies

    def _ask(self, waiting: Waiting, replies: list[Any]) -> int:
        """Ask, keep the replies, put them in their places; the number of failures."""
        if not waiting.requests:
            return 0
        self._wait_for_disk()
        outputs = self._outputs(waiting.copies(self._maker))
        kept = [_as_reply(one, output) for one, output in zip(waiting.requests, outputs, strict=True)]
        # The disk takes its time while the keys of the next chunk are made.
        self._writing = self._writer.submit(self._journal.append, kept)
        for one, output in zip(waiting.requests, outputs, strict=True):
            replies[one.place] = output
        return sum(reply.failure is not None for reply in kept)

    def _wait_for_disk(self) -> None:
        """Until the replies of the last chunk are kept. Raises JournalError where they cannot be."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _outputs(self, requests: list[Instance]) -> list[Any]:
        try:
            outputs = list(self._generate(requests))
        except SpotdiffError:
            raise
        except Exception as error:
            print(without_secrets(traceback.format_exc()), file=sys.stderr)
            raise self._stopped(f"the model failed ({type(error).__name__}: {error})") from error
        if len(outputs) != len(requests):
            raise self._stopped(f"the model gave {len(outputs)} replies to {len(requests)} questions")
        return outputs

    def _stopped(self, reason: str) -> JournalError:
        return JournalError(
            f"{without_secrets(reason)}. {self._journal.kept} answers are kept in {self._journal.folder}: the same "
            "command goes on from there"
        )

    @property
    def _maker(self) -> int:
        """Which argument of a request makes what is shown: `doc_to_visual` or `doc_to_messages`."""
        return 2 if self._model.is_simple else 1

    def _message(self, request: Instance) -> Any:
        *_, document, task, split = request.args
        return request.args[self._maker](self._model.task_dict[task][split][document])

    def _key(self, request: Instance, message: Any) -> str:
        if self._model.is_simple:
            context, generation, shown = request.args[0], request.args[1], Media(message or ())
        else:
            context, generation, shown = request.args[0], request.args[2], message
        told = [self._identity, generation, message_digest([context, shown])]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()

    def _say(self, text: str) -> None:
        if int(os.environ.get("RANK", 0)) == 0:
            print(f"spotdiff: journal {self._journal.folder}: {text}", file=sys.stderr)


def _as_reply(one: Open, output: Any) -> Reply:
    text, counts = (None, None) if output is None else unwrap_generation_output(output)
    failure = failure_of(text)
    # A failure quotes the server, and a server may quote the key. What a model says is never changed.
    stored = without_secrets(text) if failure and text else text
    told = counts.to_dict() if counts else None
    return Reply(one.key, stored, failure, told, str(one.request.task_name), one.request.doc_id)


def _as_output(kept: Reply) -> Any:
    counts: Mapping[str, int] = kept.tokens or {}
    return GenerationResult(kept.text, TokenCounts(**counts)) if counts else kept.text
