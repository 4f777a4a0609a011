"""The expected tables of classes and over all learners, computed by plain Python as in learning.py."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lab.classroom.events import CLASS
from tests.support.analytics.plain import learning
from tests.support.analytics.plain.dump import Row, Rows
from tests.support.analytics.plain.learning import ANSWERS, Act, grouped, mean

_ASKED = (*ANSWERS, "TransferAnswered")
_SURE = 0.7
_FEW = 5
_FOR_CORRELATION = 20


class Said(NamedTuple):
    """An event of a class with its fields by name."""

    class_us: int
    kind: str
    said: Row
    lesson: str
    """That of the class then."""


class Room(NamedTuple):
    """A class: its events, and the pseudonyms of its participants."""

    events: Sequence[Said]
    people: Mapping[str, str]


def room_of(dump: str, people: Mapping[str, str]) -> Room:
    """A class from its dumped log."""
    events, lesson = [], ""
    for _, _, (class_us, _, _, (kind, *values)) in learning.records(dump):
        said = dict(zip(CLASS.kinds[kind].__struct_fields__, values, strict=False))
        if kind in ("ClassOpened", "LessonBegan"):
            lesson = str(said.get("lesson", said.get("chapter")))
        events.append(Said(class_us, kind, said, lesson))
    return Room(events, people)


class PlainLearning:
    """All tables of learning by name, made when they are asked for."""

    def __init__(self, learners: Mapping[str, Sequence[Act]], rooms: Mapping[str, Room]) -> None:
        """`learners`: acts by pseudonym. `rooms`: classes by slug."""
        self.acts = [act for acts in learners.values() for act in acts]
        self.attempts = [one for acts in learners.values() for one in learning.attempts_of(acts)]
        self.rooms = rooms
        self._made: dict[str, Rows] = {}

    def __getitem__(self, name: str) -> Rows:
        if name not in self._made:
            self._made[name] = list(MAKERS[name](self))
        return self._made[name]

    def in_class(self) -> list[Act]:
        """The acts that were done in a class."""
        return [act for act in self.acts if act.room]


def _each(rows_of: Callable[[learning.Attempt], Iterable[Row]]) -> Callable[[PlainLearning], Iterator[Row]]:
    return lambda t: (row for attempt in t.attempts for row in rows_of(attempt))


# items


def _firsts(steps: Iterable[Row], *keys: str) -> list[Row]:
    """For each learner, the first time at a step."""
    by = grouped(steps, lambda row: tuple(row[key] for key in (*keys, "learner", "lesson", "step")))
    return [min(rows, key=lambda row: (row["began_ms"], row["attempt"])) for rows in by.values()]


def _statistics(firsts: Sequence[Row], *keys: str) -> Iterator[Row]:
    scores: Counter[Any] = Counter()
    for row in firsts:
        scores[tuple(row[key] for key in (*keys, "learner", "lesson"))] += row.get("right") is True
    for names, rows in grouped(firsts, lambda row: tuple(row[key] for key in (*keys, "lesson", "step"))).items():
        answered = [row for row in rows if row.get("right") is not None]
        hinted = [row for row in answered if row["hints_before"]]
        others = [row for row in answered if not row["hints_before"]]
        rest = [scores[tuple(row[key] for key in (*keys, "learner", "lesson"))] - row["right"] for row in answered]
        spent = sorted(row["spent_s"] for row in rows if row["reached_ms"] is not None)
        sure = [row for row in answered if row["p"] is not None]
        quantiles = {f"spent_p{part}_s": _quantile(spent, part / 100) for part in (25, 50, 90)}
        yield {
            **dict(zip((*keys, "lesson", "step"), names, strict=True)), **quantiles,
            "content": max((row["content"] for row in rows if row["content"]), default=None),
            "learners": len({row["learner"] for row in rows}), "n": len(answered),
            "difficulty": mean(row["right"] for row in answered),
            "discrimination": _correlation([row["right"] for row in answered], rest),
            "p_mean": mean(row["p"] for row in sure), "brier_mean": mean(row.get("brier") for row in rows),
            "gap": mean(row["p"] - row["right"] for row in sure),
            "hint_share": mean(row["hints"] > 0 for row in rows),
            "with_hint": len(hinted), "without_hint": len(others),
            "right_with_hint": mean(row["right"] for row in hinted),
            "right_without_hint": mean(row["right"] for row in others),
            "gave_up_share": mean(row["skipped"] for row in rows),
            "first_ms": min((row["reached_ms"] for row in rows if row["reached_ms"] is not None), default=None),
        }  # fmt: skip


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (place - low)


def _correlation(ones: Sequence[float], others: Sequence[float]) -> float | None:
    if len(ones) < _FOR_CORRELATION:
        return None
    one, other = sum(ones) / len(ones), sum(others) / len(others)
    both = sum((a - one) * (b - other) for a, b in zip(ones, others, strict=True))
    spread = math.sqrt(sum((a - one) ** 2 for a in ones) * sum((b - other) ** 2 for b in others))
    return both / spread if spread else None


def item_statistics(t: PlainLearning) -> Iterator[Row]:
    return _statistics(_firsts((row for row in t["gold.attempt_steps"] if row["class"]), "class"), "class")


def step_times(t: PlainLearning) -> Iterator[Row]:
    steps = [row for row in t["gold.attempt_steps"] if row["class"] and row["reached_ms"] is not None]
    counts = Counter(
        (row["class"], row["lesson"], row["step"], int(row["spent_s"] // 30 * 30)) for row in _firsts(steps, "class")
    )
    for names, count in counts.items():
        yield {**dict(zip(("class", "lesson", "step", "bucket_s"), names, strict=True)), "learners": count}


def lesson_steps(t: PlainLearning) -> Iterator[Row]:
    unfinished = {row["attempt"] for row in t["gold.attempts"] if row["state"] != "finished"}
    steps = [row for row in t["gold.attempt_steps"] if row["attempt"] in unfinished]
    lasts = [
        max(rows, key=lambda row: (row["began_ms"], row["step"]))
        for rows in grouped(steps, lambda row: row["attempt"]).values()
    ]
    stopped = Counter((row["lesson"], row["step"]) for row in lasts)
    for row in _statistics(_firsts(t["gold.attempt_steps"])):
        if row["learners"] >= _FEW:
            for name, count in (
                ("right_with_hint", "with_hint"), ("right_without_hint", "without_hint"), ("difficulty", "n"),
            ):  # fmt: skip
                row[name] = row[name] if row[count] >= _FEW else None
            yield {**row, "stopped": stopped[row["lesson"], row["step"]]}


def lesson_wrong_states(t: PlainLearning) -> Iterator[Row]:
    by = grouped(t["gold.wrong_states"], lambda row: (row["lesson"], row["step"], row["state"]))
    for (lesson, step, state), rows in by.items():
        learners = len({row["learner"] for row in rows})
        if learners >= _FEW:
            yield {
                "lesson": lesson, "step": step, "state": state, "learners": learners,
                "misconception": max((row["misconception"] for row in rows if row["misconception"]), default=None),
                "times": sum(row["times"] for row in rows),
            }  # fmt: skip


# misconceptions


def _mistakes(t: PlainLearning) -> list[Act]:
    return [
        act
        for act in t.in_class()
        if getattr(act.said, "misconception", "")
        and (act.kind == "WrongStateShown" or getattr(act.said, "right", None) is False)
    ]


def misconceptions(t: PlainLearning) -> Iterator[Row]:
    people = {room: {act.learner for act in acts} for room, acts in grouped(t.in_class(), lambda act: act.room).items()}
    asked = [act for act in t.in_class() if act.kind in _ASKED]
    for (room, tag), acts in grouped(_mistakes(t), lambda act: (act.room, act.said.misconception)).items():
        offered = [act for act in asked if act.room == room and tag in getattr(act.said, "tags", ())]
        first = {learner: min(act.at_ms for act in mine) for learner, mine in _by_learner(acts).items()}
        later = _by_learner(act for act in offered if act.at_ms > first.get(act.learner, math.inf))
        chosen = [act for act in acts if act.kind != "WrongStateShown"]
        sure = [act for act in chosen if getattr(act.said, "p", 0)]
        yield {
            "class": room, "tag": tag, "learners": len(first), "share": len(first) / len(people[room]),
            "asked": len(offered), "p_mean": mean(act.said.p for act in sure),
            "sure": len({act.learner for act in sure if act.said.p >= _SURE}),
            "by_choice": len(chosen), "by_state": len(acts) - len(chosen),
            "lessons": sorted({act.said.lesson for act in acts}), "first_ms": min(first.values()),
            "refuted": sum(min(mine, key=lambda act: act.at_ms).said.right for mine in later.values()),
            "returned": len({act.learner for act in acts if act.at_ms > first[act.learner]}),
        }  # fmt: skip


def _by_learner(acts: Iterable[Act]) -> dict[str, list[Act]]:
    return grouped(acts, lambda act: act.learner)


def _tags(t: PlainLearning) -> dict[tuple[str, str], list[Act]]:
    """Mistakes by class and learner."""
    return grouped(_mistakes(t), lambda act: (act.room, act.learner))


def mistake_pairs(t: PlainLearning) -> Iterator[Row]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for (room, _), acts in _tags(t).items():
        tags = {act.said.misconception for act in acts}
        counts.update((room, tag, other) for tag in tags for other in tags)
    for (room, tag, other), count in counts.items():
        yield {"class": room, "tag": tag, "other": other, "learners": count}


def mistake_groups(t: PlainLearning) -> Iterator[Row]:
    alike = grouped(
        _tags(t).items(), lambda one: (one[0][0], " ".join(sorted({act.said.misconception for act in one[1]})))
    )
    for (room, mistakes), found in alike.items():
        yield {
            "class": room, "mistakes": mistakes, "learners": len(found),
            "members": sorted(learner for (_, learner), _ in found),
            "last_ms": max(act.at_ms for _, acts in found for act in acts),
        }  # fmt: skip


# confidence


def _stops(acts: Iterable[Act], name: str, key: Callable[[Act], str]) -> Iterator[Row]:
    said = [act for act in acts if act.kind in ("PredictionSettled", "TransferAnswered") and act.said.p]
    for (of, stop), found in grouped(said, lambda act: (key(act), _stop(act))).items():
        yield {
            name: of, "stop": stop, "learners": len({act.learner for act in found}), "answers": len(found),
            "said": mean(act.said.p for act in found), "was": mean(act.said.right for act in found),
            "last_ms": max(act.at_ms for act in found),
        }  # fmt: skip


def _stop(act: Act) -> str:
    return "guess" if abs(act.said.p - 1 / act.said.choices) < 1e-6 else f"{act.said.p:.2f}"


def calibration(t: PlainLearning) -> Iterator[Row]:
    return _stops(t.in_class(), "class", lambda act: act.room)


def lesson_calibration(t: PlainLearning) -> Iterator[Row]:
    return (row for row in _stops(t.acts, "lesson", lambda act: str(act.said.lesson)) if row["learners"] >= _FEW)


# what happens in the room


def stuck_points(t: PlainLearning) -> Iterator[Row]:
    for slug, room in t.rooms.items():
        episodes = []
        for mine in grouped(
            (one for one in room.events if one.kind in ("StuckBegan", "StuckEnded") and one.said["p"] in room.people),
            lambda one: one.said["p"],
        ).values():
            for one, following in zip(mine, [*mine[1:], None], strict=True):
                if one.kind == "StuckBegan":
                    episodes.append((one, following and (following.class_us - one.class_us) / 1_000_000))
        for (lesson, step), found in grouped(episodes, lambda one: (one[0].lesson, str(one[0].said["step"]))).items():
            yield {
                "class": slug, "lesson": lesson, "step": step, "episodes": len(found),
                "learners": len({one.said["p"] for one, _ in found}),
                "by_reason": dict(Counter(one.said["why"] for one, _ in found)),
                "median_s": _quantile(sorted(length for _, length in found if length is not None), 0.5),
                "first_us": min(one.class_us for one, _ in found),
            }  # fmt: skip


def poll_rounds(t: PlainLearning) -> Iterator[Row]:
    for slug, room in t.rooms.items():
        right: dict[int, str] = {}
        votes: dict[tuple[int, int, str], list[Said]] = {}
        for one in room.events:
            said = one.said
            outcome = said.get("right") if one.kind == "PollMade" else said.get("outcome")
            if one.kind in ("PollMade", "Revealed") and outcome:
                right[said["poll"]] = outcome
            elif one.kind == "Voted" and said["voter"] in room.people:
                votes.setdefault((said["poll"], said["round"], said["voter"]), []).append(one)
        for (poll, turn), voters in grouped(votes, lambda key: key[:2]).items():
            is_right = {key[2]: votes[key][-1].said["answer"] == right.get(poll) for key in voters}
            was_right = {
                voter: votes[poll, turn - 1, voter][-1].said["answer"] == right.get(poll)
                for voter in is_right
                if (poll, turn - 1, voter) in votes
            }
            changed = Counter((was, is_right[voter]) for voter, was in was_right.items())
            yield {
                "class": slug, "poll": poll, "round": turn, "answers": len(voters),
                "right": sum(is_right.values()) if poll in right else None,
                "changed_to_right": changed[False, True] if poll in right else 0,
                "changed_to_wrong": changed[True, False] if poll in right else 0,
                "first_us": min(votes[key][0].class_us for key in voters),
            }  # fmt: skip


MAKERS: Mapping[str, Callable[[PlainLearning], Iterable[Row]]] = {
    "gold.attempts": lambda t: map(learning.attempt_row, t.attempts),
    "gold.attempt_steps": _each(learning.step_rows),
    "gold.wrong_states": _each(learning.wrong_state_rows),
    "gold.item_statistics": item_statistics, "gold.step_times": step_times, "gold.misconceptions": misconceptions,
    "gold.mistake_pairs": mistake_pairs, "gold.mistake_groups": mistake_groups, "gold.calibration": calibration,
    "gold.stuck_points": stuck_points, "gold.poll_rounds": poll_rounds, "gold.lesson_steps": lesson_steps,
    "gold.lesson_wrong_states": lesson_wrong_states, "gold.lesson_calibration": lesson_calibration,
}  # fmt: skip
