"""Decides hands, questions, looking, helping and notes."""

from broker_core.events import Event
from broker_core.texts import text
from lab.classroom.acts import Given, facts, ops
from lab.classroom.anchors import SCREENS, is_element
from lab.classroom.decide.deciding import (
    ASKING,
    LEARNERS,
    STAFF,
    US,
    WORKING,
    decides,
    events,
    not_now,
    person_of,
    states,
)
from lab.classroom.events import help
from lab.classroom.state import Person, Question, State
from lab.texts.refusal import Refusal

HELP_CHOICE_US = 60 * US
MAX_QUESTIONS = 1_000
MAX_OPEN_QUESTIONS = 20
"""The most unanswered questions of one person."""
MAX_NOTES = 5_000


@decides(ops.RaiseHand, LEARNERS)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.RaiseHand = given.do  # type: ignore[assignment]
    if who.hand is not None:
        return []
    at = _named(act.at)
    _ensure_may_carry(state, who, at.lab)
    return [help.HandRaised(p=who.p, lab=at.lab, seq=at.seq, at_us=at.at_us, selection=at.selection, screen=at.screen)]


@decides(ops.LowerHand, WORKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.LowerHand = given.do  # type: ignore[assignment]
    p = act.p or who.p
    if p != who.p and not who.is_staff:
        raise Refusal("class_act.not_them", 403, p=p)
    person = person_of(state, p, WORKING)
    return [help.HandLowered(p=p, why="own" if p == who.p else "staff")] if person.hand is not None else []


@decides(ops.Ask, ASKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Ask = given.do  # type: ignore[assignment]
    unanswered = sum(one.p == who.p and not one.answered and not one.is_hidden for one in state.questions.values())
    if unanswered >= MAX_OPEN_QUESTIONS or len(state.questions) >= MAX_QUESTIONS:
        raise Refusal("class_act.limit", 409, things=text("class_act.things.questions"), max=MAX_OPEN_QUESTIONS)
    at = _named(act.at)
    _ensure_may_carry(state, who, at.lab)
    return [
        help.Asked(
            question=max(state.questions, default=0) + 1,
            p=who.p,
            text=given.texts[0],
            named=act.named,
            lab=at.lab,
            seq=at.seq,
            at_us=at.at_us,
            selection=at.selection,
            screen=at.screen,
        )
    ]


def _named(at: ops.At) -> ops.At:
    """An instant without what names no element or screen: a hand is raised whatever is selected, but what the event
    keeps is no free text.
    """
    selection = at.selection if is_element(at.selection) else ""
    return ops.At(at.lab, at.seq, at.at_us, selection, at.screen if at.screen in SCREENS else "")


def _ensure_may_carry(state: State, who: Person, lab: str) -> None:
    """A hand or a question of `who` may include an instant of their own lab, or of one that everyone sees. Raises
    Refusal for others, and says so of their lab of an earlier lesson.
    """
    shown = state.stage.lab if state.stage is not None and state.stage.is_shown else ""
    followed = state.lead.lab if state.lead is not None else ""
    if who.is_staff or lab in {who.lab, who.front, shown, followed, *who.taken.values()}:
        return
    run = lab.partition("/")[0]
    if any(one.p == who.p and one.lab.partition("/")[0] == run for past in state.lessons for one in past.works):
        raise Refusal("class_act.earlier_lab", 409)
    raise Refusal("class_act.not_their_lab", 403, lab=lab)


def _question(state: State, number: int, who: Person) -> Question:
    found = state.questions.get(number)
    if found is None or (found.is_hidden and not who.is_staff and found.p != who.p):
        raise Refusal("class_act.no_thing", 404, thing=text("class_act.thing.question"), number=number)
    return found


@decides(ops.BackQuestion, ASKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.BackQuestion = given.do  # type: ignore[assignment]
    found = _question(state, act.question, who)
    if who.p == found.p or who.p in found.backers or found.answered:
        return []
    return [help.QuestionBacked(question=act.question, p=who.p)]


@decides(ops.Answer, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Answer = given.do  # type: ignore[assignment]
    found = _question(state, act.question, who)
    return [] if found.answered == act.how else [help.Answered(question=act.question, how=act.how)]


@decides(ops.HideQuestion, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.HideQuestion = given.do  # type: ignore[assignment]
    found = _question(state, act.question, who)
    return [] if found.is_hidden == act.hidden else [help.QuestionHidden(question=act.question, hidden=act.hidden)]


@decides(ops.Look, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Look = given.do  # type: ignore[assignment]
    person = person_of(state, act.p, LEARNERS)
    return [] if who.p in person.looked_by else [help.LookBegan(p=act.p, by=who.p)]


@decides(ops.EndLook, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.EndLook = given.do  # type: ignore[assignment]
    person = state.people.get(act.p)
    return [help.LookEnded(p=act.p, by=who.p)] if person and who.p in person.looked_by else []


@decides(ops.BeginHelp, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    # The server adds the position of the lab; if it did not, there is no lab.
    raise not_now("class_act.problem.no_lab")


@states(facts.BeginHelpAt)
def _(state: State, _none: None, given: Given, now_us: int) -> list[Event]:
    act: facts.BeginHelpAt = given.do  # type: ignore[assignment]
    helper = person_of(state, given.who, STAFF)
    person = person_of(state, act.p, LEARNERS)
    running = state.helps.get(act.p)
    if running is not None and running.by == helper.p and not running.until_us:
        return []
    if running is not None:
        raise not_now("class_act.problem.helped")
    if not person.works_in or person.works_in != act.lab:
        raise not_now("class_act.problem.no_lab")
    looks = None if helper.p in person.looked_by else help.LookBegan(p=act.p, by=helper.p)
    return events(looks, help.HelpBegan(p=act.p, by=helper.p, lab=act.lab, seq=act.seq))


@decides(ops.EndHelp, WORKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.EndHelp = given.do  # type: ignore[assignment]
    running = state.helps.get(act.p)
    if running is None or running.until_us:
        return []
    if who.p not in (running.by, act.p):
        raise Refusal("class_act.not_them", 403, p=act.p)
    return [help.HelperLeft(p=act.p, until_us=now_us + HELP_CHOICE_US)]


@decides(ops.ChooseHelp, LEARNERS)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.ChooseHelp = given.do  # type: ignore[assignment]
    if who.p not in state.helps:
        raise not_now("class_act.problem.not_helped")
    return [help.HelpEnded(p=who.p, kept=act.kept)]


@decides(ops.TakeWheel, WORKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.TakeWheel = given.do  # type: ignore[assignment]
    running = state.helps.get(act.p)
    if running is None or who.p not in (running.by, act.p) or (running.until_us and who.p != act.p):
        raise not_now("class_act.problem.not_helped")
    return [] if running.wheel == who.p else [help.WheelTaken(p=act.p, by=who.p)]


@decides(ops.SendNote, WORKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.SendNote = given.do  # type: ignore[assignment]
    # Learners write to staff; staff write to anyone who has a page of their own.
    person_of(state, act.p, ASKING if who.is_staff else STAFF)
    if act.p == who.p:
        raise Refusal("class_act.not_them", 403, p=act.p)
    if len(state.notes) >= MAX_NOTES:
        raise Refusal("class_act.limit", 409, things=text("class_act.things.notes"), max=MAX_NOTES)
    return [help.NoteSent(note=max(state.notes, default=0) + 1, p=act.p, text=given.texts[0])]
