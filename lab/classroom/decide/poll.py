"""Decides polls. `lab.classroom.ballots` removes the voter from the events of an anonymous poll."""

from broker_core.events import Event
from broker_core.texts import text
from lab.classroom.acts import Given, facts, ops
from lab.classroom.anchors import is_element
from lab.classroom.decide.deciding import LEARNERS, STAFF, US, decides, events, not_now, person_of, states
from lab.classroom.decide.endings import end_poll, end_settling
from lab.classroom.events import poll
from lab.classroom.state import Person, Poll, State
from lab.texts.refusal import Refusal

MAX_POLLS = 500
MAX_ROUNDS = 10
FEWEST_CHOICES = 2
_FORMS = {
    "choice": text("class_act.form.choice"),
    "number": text("class_act.form.number"),
    "point": text("class_act.form.point"),
    "prediction": text("class_act.form.prediction"),
}
_PHASES = {
    "made": text("class_act.phase.made"),
    "open": text("class_act.phase.open"),
    "closed": text("class_act.phase.closed"),
    "discussed": text("class_act.phase.discussed"),
    "ended": text("class_act.phase.ended"),
}


@decides(ops.MakePoll, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.MakePoll = given.do  # type: ignore[assignment]
    if state.poll and state.polls[state.poll].phase == "open":
        raise not_now("class_act.problem.poll_open")
    if len(state.polls) >= MAX_POLLS:
        raise Refusal("class_act.limit", 409, things=text("class_act.things.polls"), max=MAX_POLLS)
    if not act.text:
        raise Refusal("class_act.poll_text", 400)
    has_choices = act.form in ("choice", "prediction")
    if has_choices != bool(act.choices) or (has_choices and len(act.choices) < FEWEST_CHOICES):
        raise Refusal("class_act.poll_choices", 400, count=len(act.choices))
    if act.form == "prediction" and act.lesson not in ("", state.chapter):
        # The class has gone on meanwhile.
        raise not_now("class_act.problem.other_lesson")
    _check_settling(act)
    if act.right:
        check_answer(act.form, len(act.choices), act.right)
    others = 1 + len(act.choices)
    other_choices = others + bool(act.other_text)
    made = poll.PollMade(
        poll=max(state.polls, default=0) + 1,
        form=act.form,
        text=given.texts[0],
        choices=given.texts[1:others],
        anonymous=act.anonymous,
        asks_sure=act.asks_sure,
        right=act.right,
        step=act.step,
        when=act.when,
        holds=act.holds,
        asks=act.asks,
        within_s=act.within_s,
        tags=act.tags,
        other_text=given.texts[others] if act.other_text else 0,
        other_choices=given.texts[other_choices:],
        lesson=state.chapter,
    )
    return events(end_poll(state), made)


def _check_settling(act: ops.MakePoll) -> None:
    """Raises Refusal unless the fields define how a lab settles a poll of this form; the conditions themselves are
    checked by a layer that knows labs.
    """
    fits = {
        "choice": not act.asks and len(act.holds) in (0, len(act.choices)) and act.holds.count("") <= 1,
        "number": not act.holds and (not act.asks or bool(act.when or act.within_s)),
    }.get(act.form, not (act.when or act.holds or act.asks or act.within_s))
    if not fits or (act.when and not (act.holds or act.asks)):
        raise Refusal("class_act.poll_settling", 400)


def check_answer(form: str, choices: int, answer: str) -> None:
    """Raises Refusal unless it is an answer to a poll of this form: the index of a choice from 0, an integer, or an
    element of the picture.
    """
    is_number = answer.removeprefix("-").isascii() and answer.removeprefix("-").isdigit() and len(answer) <= 19
    if form in ("choice", "prediction"):
        is_valid = is_number and answer in map(str, range(choices))
    else:
        is_valid = is_element(answer) if form == "point" else is_number
    if not is_valid:
        raise Refusal("class_act.answer", 400, answer=answer, form=_FORMS[form])


def _poll(state: State, number: int, *phases: str) -> Poll:
    """The current poll, if it is in one of these phases. Raises Refusal."""
    found = state.polls.get(number)
    if found is None:
        raise Refusal("class_act.no_thing", 404, thing=text("class_act.thing.poll"), number=number)
    if phases and found.phase not in phases:
        raise Refusal("class_act.poll_phase", 409, phase=_PHASES[found.phase])
    return found


@decides(ops.OpenPoll, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.OpenPoll = given.do  # type: ignore[assignment]
    found = _poll(state, act.poll, "made", "closed", "discussed", "open")
    if found.phase == "open":
        return []
    if found.is_revealed or len(found.rounds) >= MAX_ROUNDS:
        raise not_now("class_act.problem.poll_settled")
    until_us = now_us + act.seconds * US if act.seconds else 0
    return [
        *end_settling(state, act.poll),
        poll.PollOpened(poll=act.poll, round=len(found.rounds) + 1, until_us=until_us),
    ]


@decides(ops.CastVote, LEARNERS)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.CastVote = given.do  # type: ignore[assignment]
    found = _poll(state, act.poll, "open")
    check_answer(found.form, len(found.choices), act.answer)
    if found.asks_sure != (act.sure >= 0):
        raise Refusal(
            "class_act.sure", 400, asked=text("class_act.asked" if found.asks_sure else "class_act.not_asked")
        )
    return [
        poll.Voted(poll=act.poll, round=len(found.rounds), voter=who.p, answer=act.answer, sure=act.sure),
    ]


@decides(ops.ClosePoll, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.ClosePoll = given.do  # type: ignore[assignment]
    found = _poll(state, act.poll)
    return [poll.PollClosed(poll=act.poll, round=len(found.rounds))] if found.phase == "open" else []


@decides(ops.Discuss, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Discuss = given.do  # type: ignore[assignment]
    _poll(state, act.poll, "closed", "discussed")
    return [poll.DiscussionBegan(poll=act.poll, until_us=now_us + act.seconds * US if act.seconds else 0)]


@decides(ops.OpenSplit, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.OpenSplit = given.do  # type: ignore[assignment]
    return [] if _poll(state, act.poll).is_split_open else [poll.SplitOpened(poll=act.poll)]


@decides(ops.ShowSplit, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.ShowSplit = given.do  # type: ignore[assignment]
    found = _poll(state, act.poll, "closed", "discussed", "ended")
    return [] if found.is_shown else [poll.SplitShown(poll=act.poll)]


@decides(ops.SettlePoll, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    # The server adds the position of the lab; if it did not, there is no lab.
    raise not_now("class_act.problem.nobody_leads")


@states(facts.BeginSettling)
def _(state: State, _none: None, given: Given, now_us: int) -> list[Event]:
    act: facts.BeginSettling = given.do  # type: ignore[assignment]
    person_of(state, given.who, STAFF)
    found = _poll(state, act.poll, "closed", "discussed")
    if state.lead is None or state.lead.lab != act.lab:
        raise not_now("class_act.problem.nobody_leads")
    if not found.is_settled_by_lab:
        raise not_now("class_act.problem.not_by_lab")
    if found.form == "prediction" and found.lesson != state.chapter:
        # The lab that leads has another cluster: what happens there would not answer the question.
        raise not_now("class_act.problem.other_lesson")
    if found.is_revealed:
        raise not_now("class_act.problem.poll_settled")
    return [] if found.settled_in else [poll.SettlingBegan(poll=act.poll, lab=act.lab, seq=act.seq)]


@decides(ops.EndSettling, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.EndSettling = given.do  # type: ignore[assignment]
    _poll(state, act.poll)
    return list(end_settling(state, act.poll))


@states(facts.SettlePoll)
def _(state: State, _none: None, given: Given, now_us: int) -> list[Event]:
    act: facts.SettlePoll = given.do  # type: ignore[assignment]
    found = state.polls.get(act.poll)
    if found is None or found.settled_in != act.lab:
        # Cancelled, or settled by staff, in the meantime.
        return []
    if not act.outcome:
        return [poll.SettlingEnded(poll=act.poll, why=act.why_not)]
    return [poll.Revealed(poll=act.poll, outcome=act.outcome, lab=act.lab, seq=act.seq, by="lab")]


@states(facts.GiveUpSettling)
def _(state: State, _none: None, given: Given, now_us: int) -> list[Event]:
    act: facts.GiveUpSettling = given.do  # type: ignore[assignment]
    found = state.polls.get(act.poll)
    is_settling = found is not None and found.settled_in == act.lab
    return [poll.SettlingEnded(poll=act.poll, why="lab")] if is_settling else []


@decides(ops.Reveal, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Reveal = given.do  # type: ignore[assignment]
    found = _poll(state, act.poll, "closed", "discussed")
    check_answer(found.form, len(found.choices), act.outcome)
    # Staff override what a lab settled.
    return [poll.Revealed(poll=act.poll, outcome=act.outcome, lab=act.lab, seq=act.seq, by="staff")]


@decides(ops.EndPoll, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.EndPoll = given.do  # type: ignore[assignment]
    _poll(state, act.poll)
    return events(end_poll(state)) if state.poll == act.poll else []
