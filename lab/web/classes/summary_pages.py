"""The summary of a class: complete for staff, for a learner only their own part."""

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from lab.actions.classes.live_class import LiveClass, live_classes
from lab.classroom.state import State
from lab.classroom.summary import OwnVote, PollRow, Summary, learner_row, own_votes, summary
from lab.models import STAFF_ROLES, Class, Participant, Role, Run
from lab.rights import membership_of
from lab.texts.refusal import Refusal
from lab.web.pages import page

_US_PER_S = 1_000_000


@never_cache
@require_GET
async def class_summary(request: HttpRequest, slug: str) -> HttpResponse:
    """The summary. Raises Refusal: 404 for other classes, 403 for observers and the projector."""
    user = await request.auser()
    classroom = await Class.objects.filter(slug=slug).afirst()
    me = await sync_to_async(membership_of)(user, classroom) if isinstance(user, User) and classroom else None
    if classroom is None or me is None:
        raise Refusal("refusal.no_class", 404, slug=slug)
    if me.role not in (*STAFF_ROLES, Role.LEARNER):
        raise Refusal("refusal.not_allowed", 403)
    live = await live_classes().of(classroom)
    context: dict[str, Any] = {"classroom": classroom, "me": me, "is_staff": me.role in STAFF_ROLES}
    if me.role in STAFF_ROLES:
        events = await live.room.events(1, live.room.board.last_seq)
        whole = await live.room.read(lambda state: summary(state, events))
        context |= _for_staff(live, whole)
    else:
        context |= await live.room.read(lambda state: _for_learner(live, state, me.source))
        context["runs"] = await sync_to_async(_runs)(me)
    return await page(request, "class/summary.html", context)


def _for_staff(live: LiveClass, whole: Summary) -> dict[str, Any]:
    words = live.words
    rows = [{**row._asdict(), "name": words.name(row.p), "away_s": row.away_us // _US_PER_S} for row in whole.learners]
    questions = [
        {
            "text": words.text(one.text)[0],
            "lang": words.text(one.text)[1],
            "name": words.name(one.p) or one.p,
            "backers": one.backers,
            "href": f"/r/{one.at.lab}?seq={one.at.seq}" if one.at.lab else "",
        }
        for one in whole.questions
    ]
    away = [
        {
            "name": words.name(one.p) or one.p,
            "since": _clock(one.since_us),
            "until": _clock(one.until_us),
        }
        for one in whole.away
    ]
    return {
        "minutes": round(whole.lasted_us / 60 / _US_PER_S),
        "steps": range(1, whole.steps + 1),
        "learners": rows,
        "polls": [_poll(live, one) for one in whole.polls],
        "questions": questions,
        "away": away,
    }


def _poll(live: LiveClass, poll: PollRow) -> dict[str, Any]:
    text, language = live.words.text(poll.text)
    rounds = [
        {
            "number": number,
            "votes": one.votes,
            "right": one.right_percent,
            "answers": None
            if one.answers is None
            else [
                {
                    "text": _answer(live, poll.choices, answer),
                    "count": count,
                    "percent": round(100 * count / one.votes),
                    "is_right": answer == poll.outcome,
                }
                for answer, count in one.answers.items()
            ],
        }
        for number, one in enumerate(poll.rounds, 1)
    ]
    outcome = _answer(live, poll.choices, poll.outcome) if poll.outcome else ""
    return {"text": text, "lang": language, "rounds": rounds, "outcome": outcome}


def _for_learner(live: LiveClass, state: State, p: str) -> dict[str, Any]:
    row = learner_row(state, p)
    votes = [_vote(live, state, one) for one in own_votes(state, p)]
    marks = [_clock(one.marked_us) for one in state.marks if one.p == p]
    return {"row": row, "votes": votes, "marks": marks}


def _vote(live: LiveClass, state: State, vote: OwnVote) -> dict[str, Any]:
    poll = state.polls[vote.poll]
    text, language = live.words.text(poll.text)
    return {**vote._asdict(), "answer": _answer(live, poll.choices, vote.answer), "text": text, "lang": language}


def _answer(live: LiveClass, choices: tuple[int, ...], answer: str) -> str:
    """The text of the chosen choice, or the answer itself."""
    if choices and answer.isdecimal() and int(answer) < len(choices):
        return live.words.text(choices[int(answer)])[0]
    return answer


def _runs(me: Participant) -> list[dict[str, str]]:
    found = Run.objects.filter(participant=me).prefetch_related("branches").order_by("pk")
    return [{"name": run.name, "href": f"/r/{run.slug}/{run.branches.all()[0].name}"} for run in found]


def _clock(us: int) -> str:
    """Class time as 31:42."""
    minutes, seconds = divmod(max(0, us) // _US_PER_S, 60)
    return f"{minutes}:{seconds:02d}"
