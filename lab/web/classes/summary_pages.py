"""The summary of a class: complete for staff, for a learner only their own part."""

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from lab.actions.classes.lessons.start import lesson_title
from lab.actions.classes.live_class import LiveClass, live_classes
from lab.actions.classes.mistake_texts import mistake_texts
from lab.classroom.results.mistakes import MistakeRow
from lab.classroom.results.summary import LessonRows, OwnVote, PollRow, Summary, own_votes, own_work, summary
from lab.classroom.state import Poll, State
from lab.models import STAFF_ROLES, Class, Participant, Role, Run
from lab.preferences import preferences_of
from lab.rights import membership_of
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal
from lab.web.classes.element_names import element_name
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
    language = preferences_of(request).language
    if me.role in STAFF_ROLES:
        events = await live.room.events(1, live.room.board.last_seq)
        whole = await live.room.read(lambda state: summary(state, events))
        context |= _for_staff(live, whole, language)
    else:
        context |= await live.room.read(lambda state: _for_learner(live, state, me.source, language))
        context["runs"] = await sync_to_async(_runs)(me)
    return await page(request, "class/summary.html", context)


def _for_staff(live: LiveClass, whole: Summary, language: str) -> dict[str, Any]:
    words = live.words
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
        "learner_count": whole.learners,
        "lessons": [_lesson(live, one, language) for one in whole.lessons],
        "polls": [_poll(live, one, language) for one in whole.polls],
        "questions": questions,
        "away": away,
    }


def _lesson(live: LiveClass, lesson: LessonRows, language: str) -> dict[str, Any]:
    rows = [
        {
            **row.work._asdict(),
            "name": live.words.name(row.work.p),
            "stuck_count": row.stuck_count,
            "away_s": row.away_us // _US_PER_S,
        }
        for row in lesson.learners
    ]
    return {
        "title": lesson_title(lesson.chapter, language),
        "steps": range(1, lesson.steps + 1),
        "learners": rows,
        "mistakes": _mistakes(lesson.mistakes, lesson.chapter, language),
    }


def _mistakes(mistakes: list[MistakeRow], chapter: str, language: str) -> list[dict[str, Any]]:
    texts = mistake_texts(chapter, language)
    return [
        {
            "text": texts.get(one.what, one.what).replace("`", ""),
            "is_state": one.by == "state",
            "where": translate(
                language,
                "board.mistakes.step" if len(one.steps) == 1 else "board.mistakes.steps",
                n=", ".join(map(str, one.steps)),
            ),
            "learners": one.learners,
        }
        for one in mistakes
    ]


def _said(live: LiveClass, poll: PollRow | Poll, language: str) -> tuple[str, str, tuple[int, ...]]:
    """The text of a poll, its language, and the choices: in this language if the poll has them."""
    text, said_in = live.words.text(poll.text)
    if said_in == language or not poll.other_choices:
        return text, said_in, poll.choices
    other, other_in = live.words.text(poll.other_text) if poll.other_text else (text, said_in)
    return other, other_in, poll.other_choices


def _poll(live: LiveClass, poll: PollRow, language: str) -> dict[str, Any]:
    text, said_in, choices = _said(live, poll, language)
    rounds = [
        {
            "number": number,
            "votes": one.votes,
            "right": one.right_percent,
            "answers": None
            if one.answers is None
            else [
                {
                    "text": _answer(live, choices, answer, language),
                    "count": count,
                    "percent": round(100 * count / one.votes),
                    "is_right": answer == poll.outcome,
                }
                for answer, count in one.answers.items()
            ],
        }
        for number, one in enumerate(poll.rounds, 1)
    ]
    outcome = _answer(live, choices, poll.outcome, language) if poll.outcome else ""
    answer_lang = said_in if choices else language
    return {"text": text, "lang": said_in, "answer_lang": answer_lang, "rounds": rounds, "outcome": outcome}


def _for_learner(live: LiveClass, state: State, p: str, language: str) -> dict[str, Any]:
    works = [{**one.work._asdict(), "title": lesson_title(one.chapter, language)} for one in own_work(state, p)]
    votes = [_vote(live, state, one, language) for one in own_votes(state, p)]
    marks = [_clock(one.marked_us) for one in state.marks if one.p == p]
    return {"works": works, "votes": votes, "marks": marks}


def _vote(live: LiveClass, state: State, vote: OwnVote, language: str) -> dict[str, Any]:
    text, said_in, choices = _said(live, state.polls[vote.poll], language)
    answer, answer_lang = _answer(live, choices, vote.answer, language), said_in if choices else language
    return {**vote._asdict(), "answer": answer, "answer_lang": answer_lang, "text": text, "lang": said_in}


def _answer(live: LiveClass, choices: tuple[int, ...], answer: str, language: str) -> str:
    """The text of the chosen choice, the name of the element, or the answer itself."""
    if choices and answer.isdecimal() and int(answer) < len(choices):
        return live.words.text(choices[int(answer)])[0]
    return element_name(language, answer)


def _runs(me: Participant) -> list[dict[str, str]]:
    found = Run.objects.filter(participant=me).prefetch_related("branches").order_by("pk")
    return [{"name": run.name, "href": f"/r/{run.slug}/{run.branches.all()[0].name}"} for run in found]


def _clock(us: int) -> str:
    """Class time as 31:42."""
    minutes, seconds = divmod(max(0, us) // _US_PER_S, 60)
    return f"{minutes}:{seconds:02d}"
