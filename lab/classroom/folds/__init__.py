"""The fold of a class: each kind of event changes the state and returns the sections of the views that changed.

A section is a path of `lab.classroom.views`: `people/p7`, `lead`, `polls/3`, `mine/p7`.
"""

from lab.classroom.events import CLASS, ClassEnvelope
from lab.classroom.folds import help, lead, pace, poll, room, seen, tape, work
from lab.classroom.folds.folding import ACTS_KEPT_US, FOLDS, Sections
from lab.classroom.state import ActDone, State

__all__ = ["fold"]

_FAMILIES = (help, lead, pace, poll, room, seen, tape, work)
_missing = sorted(name for name, kind in CLASS.kinds.items() if kind not in FOLDS)
if _missing:
    raise RuntimeError(f"no fold for {', '.join(_missing)}: add one in lab/classroom/folds")


def fold(state: State, envelope: ClassEnvelope) -> Sections:
    """Applies one event to the state; returns the changed sections."""
    seq, at_us, who, act, event = envelope
    state.last_seq, state.last_us = seq, at_us
    if act:
        _note_act(state, f"{who}/{act}", seq, at_us)
    return FOLDS[type(event)](state, event, at_us, who)


def _note_act(state: State, act: str, seq: int, at_us: int) -> None:
    state.acts.pop(act, None)
    state.acts[act] = ActDone(seq, at_us)
    while state.acts:
        oldest = next(iter(state.acts))
        if state.acts[oldest].done_us > at_us - ACTS_KEPT_US:
            return
        del state.acts[oldest]
