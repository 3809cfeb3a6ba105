"""A journal of replies: each is on disk before the next ones are asked for, and is found again by what was asked."""

from spotdiff.journal.digest import message_digest
from spotdiff.journal.files import Journal, JournalError
from spotdiff.journal.lines import Reply

__all__ = ["Journal", "JournalError", "Reply", "message_digest"]
