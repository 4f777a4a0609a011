"""A learner's own data as files: CSV with one row for each answer or step, and xAPI 1.0.3 statements, one per line.

Statements have no `context.language`: a lesson is read in either language, and the log does not say in which.
"""

import csv
import io
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from lab.learning.events import (
    AnswerGiven,
    ChallengeJudged,
    LearningEvent,
    LessonFinished,
    LessonStarted,
    PredictionSettled,
    ReviewAnswered,
    StepChecked,
    Stored,
    TransferAnswered,
)
from lab.learning.summary import Summary

COLUMNS = (
    "user", "class", "lesson", "part", "step", "kind", "attempt", "choice", "outcome", "right", "misconception", "p",
    "brier", "hints_shown", "seconds", "sim_us", "era", "seed", "run", "branch", "seq", "content_version", "at",
)  # fmt: skip
_ROWS = (StepChecked, PredictionSettled, AnswerGiven, TransferAnswered, ReviewAnswered, ChallengeJudged)
_VERBS = "http://adlnet.gov/expapi/verbs/"
_ACTIVITIES = "http://adlnet.gov/expapi/activities/"
_NAMESPACE = uuid.UUID("6f8b9d5e-3f0a-4d5c-9f61-1c8a4f4f7a11")
DECIMALS = 4
"""Digits of scores and probabilities: 1.715, not 1.7149999999999999."""
_FORMULA = ("=", "+", "@", "\t", "\r")


class Titled(Protocol):
    """A title in both languages."""

    @property
    def en(self) -> str: ...
    @property
    def zh(self) -> str: ...


def as_csv(learner: str, history: Iterable[Stored]) -> str:
    """All answers and steps as CSV with a header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for stored in history:
        if isinstance(stored.event, _ROWS):
            row = _row(learner, stored)
            writer.writerow([_cell(row.get(column, "")) for column in COLUMNS])
    return out.getvalue()


def _row(learner: str, stored: Stored) -> dict[str, Any]:
    event = stored.event
    row: dict[str, Any] = {
        "user": learner,
        "class": event.classroom,
        "kind": event.kind,
        "sim_us": event.at_us,
        "at": _iso(stored.at_ms),
        **{name: getattr(event, name) for name in ("lesson", "era", "seed", "run", "branch", "seq", "content_version")},
    }
    for name in ("part", "step", "attempt", "choice", "outcome", "right", "misconception", "p", "brier", "seconds"):
        if hasattr(event, name):
            row[name] = getattr(event, name)
    row["part"] = row.get("part") or ""
    row["hints_shown"] = getattr(event, "hints", "")
    match event:
        case AnswerGiven():
            row["choice"] = event.answer
        case TransferAnswered():
            row["step"] = "transfer"
        case ReviewAnswered():
            row |= {"step": f"review-{event.count}", "seed": event.question_seed, "seconds": event.ms / 1000}
        case ChallengeJudged():
            row |= {"choice": event.entry, "right": event.passed, "outcome": event.score}
        case _:
            pass
    return row


def _cell(value: Any) -> Any:
    """A value for a spreadsheet, which would interpret a text that begins like a formula."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def as_xapi(
    home: str,
    summary: Summary,
    history: Iterable[Stored],
    titles: Mapping[str, Titled],
    chapters: Mapping[str, str] = {},
) -> Iterator[str]:
    """All statements as JSON lines. `home`: address of this installation, which names the account and the activities.
    `titles` and `chapters`: of lessons and challenges, by slug; a chapter by its own slug.

    Concepts that are solid now get a `mastered` statement.
    """
    last_ms: dict[str, int] = {}
    for stored in history:
        verb = _verb(stored.event)
        if verb:
            last_ms[stored.event.lesson] = stored.at_ms
            yield _line(home, summary.learner, stored, verb, titles, chapters)
    for slug, lesson in summary.lessons.items():
        if lesson.mastery == "solid":
            stored = Stored(0, last_ms.get(slug, lesson.last_at_ms), LessonFinished(lesson=slug))
            yield _line(home, summary.learner, stored, "mastered", titles, chapters)


def _verb(event: LearningEvent) -> str:
    match event:
        case LessonStarted():
            return "attempted"
        case PredictionSettled() | AnswerGiven() | TransferAnswered() | ReviewAnswered():
            return "answered"
        case LessonFinished() if event.part == event.parts:
            return "completed"
        case ChallengeJudged():
            return "completed" if event.passed else "failed"
    return ""


def _line(
    home: str, learner: str, stored: Stored, verb: str, titles: Mapping[str, Titled], chapters: Mapping[str, str]
) -> str:
    event = stored.event
    lesson_id = f"{home}/xapi/{event.lesson}"
    groups = [f"{home}/xapi/{one}" for one in (chapters.get(event.lesson), "course") if one]
    statement = {
        "id": str(uuid.uuid5(_NAMESPACE, f"{learner}/{stored.seq}/{event.lesson}/{verb}")),
        "actor": {"objectType": "Agent", "account": {"homePage": home, "name": learner}},
        "verb": {"id": f"{_VERBS}{verb}", "display": {"en-US": verb}},
        "object": _object(event, lesson_id, titles.get(event.lesson)),
        "context": {
            "registration": str(uuid.uuid5(_NAMESPACE, f"{learner}/{event.lesson}/{event.run}/{event.branch}")),
            "contextActivities": {"parent": [{"id": lesson_id}], "grouping": [{"id": one} for one in groups]},
            "extensions": {
                f"{home}/xapi/{name}": value
                for name, value in (
                    ("era", event.era), ("seed", event.seed), ("run", event.run), ("branch", event.branch),
                    ("seq", event.seq), ("sim_us", event.at_us), ("content_version", event.content_version),
                )
            },
        },
        "timestamp": _iso(stored.at_ms),
    }  # fmt: skip
    if result := _result(event, home):
        statement["result"] = result
    return json.dumps(statement, ensure_ascii=False, separators=(",", ":"))


def _object(event: LearningEvent, lesson_id: str, title: Titled | None) -> dict[str, Any]:
    definition: dict[str, Any] = {"type": f"{_ACTIVITIES}lesson"}
    if title is not None:
        definition["name"] = {"en-US": title.en, "zh-CN": title.zh}
    step = getattr(event, "step", "")
    match event:
        case TransferAnswered():
            step = "transfer"
        case ReviewAnswered():
            step = f"review-{event.count}"
        case _:
            pass
    if isinstance(event, PredictionSettled | TransferAnswered | ReviewAnswered):
        ids = dict.fromkeys((event.choice, event.outcome))
        definition |= {
            "type": f"{_ACTIVITIES}cmi.interaction",
            "interactionType": "choice",
            "choices": [{"id": id} for id in ids if id],
            "correctResponsesPattern": [event.outcome],
        }
    elif isinstance(event, AnswerGiven):
        kind = "numeric" if event.answer.lstrip("-").isdecimal() else "choice"
        definition |= {
            "type": f"{_ACTIVITIES}cmi.interaction",
            "interactionType": kind,
            "correctResponsesPattern": [event.outcome],
        }
    return {"objectType": "Activity", "id": f"{lesson_id}#{step}" if step else lesson_id, "definition": definition}


def _result(event: LearningEvent, home: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    match event:
        case PredictionSettled() | TransferAnswered() | ReviewAnswered():
            result = {
                "success": event.right,
                "response": event.choice,
                "score": {"scaled": round(1 - event.brier, DECIMALS)},
            }
            extensions = {
                "p": round(event.p, DECIMALS),
                "brier": round(event.brier, DECIMALS),
                "misconception": event.misconception,
            }
            extensions["hints"] = getattr(event, "hints", 0)
            result["extensions"] = {f"{home}/xapi/{name}": value for name, value in extensions.items()}
        case AnswerGiven():
            result = {"success": event.right, "response": event.answer}
        case LessonFinished():
            result = {"completion": True}
        case ChallengeJudged():
            result = {"success": event.passed, "score": {"raw": event.score}}
        case _:
            pass
    seconds = event.ms / 1000 if isinstance(event, ReviewAnswered) else getattr(event, "seconds", 0)
    if result and seconds:
        result["duration"] = f"PT{seconds:.2f}S"
    return result


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
