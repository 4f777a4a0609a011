"""Learners' histories, stored as an append-only log of events per user, and the state that is computed from them.

Write with `lab.learning.log.append(user_id, event)`; read with `summary_of(user_id)` (everything that the pages show)
and `history_of(user_id)` (the events themselves). Nothing else is stored: progress, calibration, review cards and
mastery are computed from the events.
"""

from lab.learning.log import append, history_of, summary_of
from lab.learning.summary import Summary

__all__ = ["Summary", "append", "history_of", "summary_of"]
