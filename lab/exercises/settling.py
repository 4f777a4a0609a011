"""Questions that a run settles as it plays: which of several conditions comes true first, or the value of a quantity at
an instant.

A question is read event by event from a copy of the view, as the prediction of a lesson is. Its answers are the places
of its choices, "0" for the first, or the number itself.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from broker_core.events import Envelope
from broker_core.events.rpc import RpcDelivered
from broker_core.view.fold import Fold, empty_view
from broker_core.view.tree import View
from lab.exercises.happenings import Measured
from lab.exercises.lesson import Step
from lab.exercises.moment import Moment
from lab.exercises.pause_conditions import Stops, is_counted, stop_at, test_of
from lab.exercises.places import Unresolved
from lab.exercises.quantities import is_word, value_of
from lab.exercises.questions import meanings_of, outcome_of
from lab.exercises.tally import Tally


class Question(NamedTuple):
    """A question about a run.

    Attributes:
        when: the condition at which it is read; empty: the answer is the first of `holds` to come true.
        within_s: simulated seconds after which it is read at the latest; 0: no limit.
        holds: the condition of each choice; empty for the choice that is right if no other is.
        asks: the quantity, if the answer is a number.
        step: the step of a lesson, if it is that step's prediction.
    """

    when: str = ""
    within_s: int = 0
    holds: tuple[str, ...] = ()
    asks: str = ""
    step: Step | None = None

    @property
    def unreadable(self) -> str | None:
        """The first text that is neither a condition nor a quantity that can be read from the run alone; None if there
        is none.
        """
        view = empty_view()
        for condition in (self.when, *self.holds):
            try:
                if condition and self.when and condition is not self.when:
                    test_of(condition)
                elif condition:
                    stop_at(condition, view)
            except ValueError:
                return condition
        try:
            return self.asks if self.asks and (is_word(self.asks) or is_counted(self.asks)) else None
        except ValueError:
            return self.asks

    @property
    def can_be_settled(self) -> bool:
        """Whether the run alone can settle it: a measurement that a learner makes on a page is not in any event."""
        return self.step is None or not isinstance(self.step.prediction and self.step.prediction.after, Measured)


class Settled(NamedTuple):
    """The right answer, empty for none, and the event after which it was read. `why_not`: why there is none: `none` (no
    choice was right), `since` (the event from which the prediction measures time did not happen).
    """

    outcome: str
    seq: int
    why_not: str = "none"


class Reading:
    """Follows a run from an event on until a question is settled. One thread at a time."""

    def __init__(self, question: Question, view: View, at_us: int, seq: int) -> None:
        """`view` is the view after event `seq`; it is copied. Raises ValueError for an invalid condition."""
        self.settled: Settled | None = None
        self.last_seq = seq
        self._question = question
        self._fold = Fold(msgspec.json.decode(msgspec.json.encode(view)))
        self._tally = Tally(seq=seq, began_us=at_us)
        self._tally.step_began(at_us)
        self._due: tuple[int, int] | None = None
        #: Whether the event from which the prediction measures time did not happen within its limit.
        self._is_too_late = False
        prediction = question.step.prediction if question.step is not None else None
        self._since = prediction.since if prediction is not None else None
        self._tally.awaits_since = self._since is not None
        self._limit_us = _limit_us(question, at_us, awaits_since=self._tally.awaits_since)
        races = question.holds if question.holds and not question.when else ()
        self._stops: Sequence[Stops | None] = [stop_at(one, view) if one else None for one in races]
        self._when = stop_at(question.when, view) if question.when else None
        self._times = 0
        self._choices = prediction.choices if prediction is not None else ()
        try:
            self._meanings = meanings_of(self._choices, self._moment(at_us))
        except Unresolved:
            self._meanings = {}

    @property
    def is_due(self) -> bool:
        """Whether the awaited event has happened: the run may pause there."""
        return self._due is not None or self.settled is not None

    def take(self, envelope: Envelope) -> None:
        """Takes the next event; earlier ones are ignored."""
        seq, at_us, _, _, event = envelope
        if self.settled is not None or seq != self.last_seq + 1:
            return
        if self._due is not None and (isinstance(event, RpcDelivered) or at_us > self._due[0]):
            self.end()
            return
        if self._limit_us is not None and at_us > self._limit_us:
            # The value is read as it was before this event.
            self._is_too_late = self._due is None and self._tally.awaits_since
            self._due = self._due or (self._limit_us, self.last_seq)
            self.end()
            return
        if self._since is not None and self._tally.since_us < 0 and self._since.happens(self._fold.view, event):
            self._tally.measure_from(at_us)
            self._limit_us = _limit_us(self._question, at_us, awaits_since=False)
        happens = self._happens(envelope)
        self._tally.take(self._fold.view, envelope, ())
        self._fold.fold(envelope)
        self.last_seq = seq
        self._race(envelope)
        # All conditions see each event: a comparison must become true.
        if self._when is not None and self._when(self._fold.view, envelope):
            happens = True
        if happens and self._due is None:
            self._due = at_us, seq

    def end(self) -> None:
        """Called when an instant has no more events: reads a question that is due."""
        if self._due is None or self.settled is not None:
            return
        at_us, _ = self._due
        if self._is_too_late:
            self.settled = Settled("", self.last_seq, "since")
            return
        self.settled = Settled(self._read(self._moment(at_us)), self.last_seq)

    def _moment(self, at_us: int) -> Moment:
        return Moment(self._fold.view, at_us, True, self._tally)

    def _happens(self, envelope: Envelope) -> bool:
        prediction = self._question.step.prediction if self._question.step is not None else None
        if prediction is not None and prediction.after.happens(self._fold.view, envelope[4]):
            self._times += 1
            return self._times == prediction.times
        return False

    def _race(self, envelope: Envelope) -> None:
        met = [stop is not None and stop(self._fold.view, envelope) for stop in self._stops]
        if True in met:
            self.settled = Settled(str(met.index(True)), envelope[0])

    def _read(self, moment: Moment) -> str:
        question = self._question
        try:
            if question.step is not None and question.step.prediction is not None:
                found = value_of(moment, question.step.prediction.asks)
                outcome = outcome_of(self._choices, self._meanings, moment, found)
                values = [choice.value for choice in self._choices]
                return str(values.index(outcome)) if outcome in values else ""
            if question.asks:
                return str(value_of(moment, question.asks))
        except Unresolved:
            return ""
        if question.when:
            for place, condition in enumerate(question.holds):
                if condition and test_of(condition)(moment):
                    return str(place)
        return str(question.holds.index("")) if "" in question.holds else ""


def _limit_us(question: Question, at_us: int, *, awaits_since: bool) -> int | None:
    prediction = question.step.prediction if question.step is not None else None
    if prediction is None:
        return at_us + question.within_s * 1_000_000 if question.within_s else None
    limit_ms = prediction.since_limit_ms if awaits_since else prediction.limit_ms
    return None if limit_ms is None else at_us + limit_ms * 1_000
