"""Acceptance statement 17: with "nobody past step 5", no answer to a learner has a byte of the text, hints or goals of
step 6, or of the debrief, however the learner gets on in the labs of the class.
"""

import re
from collections.abc import Iterator

import pytest

from lab.actions.classes.live_class import LiveClass, close_classes
from lab.exercises.loader import exercises
from lab.models import Class, ExerciseProgress, Participant, Run
from lab.urls import urlpatterns
from tests.support.classroom.class_pages import page_of
from tests.support.classroom.due_texts import GIVEN, LANGUAGES, due_texts, plain, said
from tests.support.classroom.guest import Guest
from tests.support.classroom.lesson_room import remove_class
from tests.support.lab_server import LabServer, LabSocketClient, Visitor

LESSON = exercises()["003-what-a-power-loss-takes"]
PACE = 5
NAME = re.compile(r"[\w.-]+", re.ASCII)
"""Of a file or a setting: other pages have it as well."""


class Paced:
    """A class that is at a step of the lesson, with one learner (p2)."""

    def __init__(self, server: LabServer, teacher: Visitor) -> None:
        assert teacher.post("/classes/new", title="Replication", chapter=LESSON.slug).status == 200
        self.server, self.teacher, self.ada = server, teacher, Guest(server)
        self.model = Class.objects.get()
        self.for_all = " ".join(text.words for text in due_texts(LESSON) if 0 <= text.step < PACE)
        """What is open, and what pages for everybody have."""
        self.answers = [self.ada.join(self.model.link_key, "Ada").text]
        self.run = Run.objects.get(learners__classroom=self.model, learners__number=2).slug

    def set_pace(self, step: int) -> None:
        with page_of(self.server, self.model.slug, self.teacher) as page:
            page.until("snap")
            assert page.act("set_pace", f"pace-{step}", step=step)["k"] == "done"
            page.until_held("/people/p2 name", "Ada")

    def walk(self, visitor: Visitor) -> list[str]:
        """What is answered at every address, in both languages, with the class and with the lesson."""
        answers = []
        for pattern in urlpatterns:
            for slug in (self.model.slug, LESSON.slug) if "slug:slug" in str(pattern.pattern) else ("",):
                named = {**GIVEN, "run": self.run, "slug": slug}
                address = re.sub(r"<\w+:(\w+)>", lambda found, n=named: n.get(found[1], "x"), str(pattern.pattern))  # type: ignore[misc]
                for language in LANGUAGES:
                    given = visitor.get(f"/{address}{'&' if '?' in address else '?'}language={language}&seq=1")
                    answers.append(given.body.decode("utf-8", "replace"))
        return answers

    def heard(self, socket: LabSocketClient) -> list[str]:
        """The states of the steps now; what the page was told counts as answers."""
        self.answers += [said(frame) for frame in socket.frames]
        shown = [frame for frame in socket.frames if frame["k"] == "exercise"]
        socket.frames = shown[-1:]
        return [step["state"] for step in shown[-1]["steps"]]

    def early(self, pace: int) -> list[str]:
        """Texts of later steps, and of the debrief, in the answers so far; the texts before are looked for as well."""
        answers = plain(" ".join(self.answers))
        known = [text.words for text in due_texts(LESSON) if 0 <= text.step < pace]
        assert sum(words in answers for words in known) > len(known) // 3, "what is open is found"
        later = [text.words for text in due_texts(LESSON) if not 0 <= text.step < pace]
        return [
            words for words in later if words in answers and not NAME.fullmatch(words) and words not in self.for_all
        ]


def skip_all(socket: LabSocketClient) -> None:
    """Goes on without doing the steps, and asks for all hints, as far as the lab lets them."""
    for _ in range(3 * len(LESSON.steps)):
        shown = [frame for frame in socket.frames if frame["k"] == "exercise"][-1]
        step = next((one for one in shown["steps"] if one["state"] == "active"), None)
        while socket.ask({"k": "exercise", "op": "hint"})["k"] == "done":
            pass
        if step is None or socket.ask({"k": "exercise", "op": "skip", "step": step["id"]})["k"] == "no":
            return
        if [frame for frame in socket.frames if frame["k"] == "exercise"][-1] == shown:
            return


@pytest.fixture
def paced(lab_server: LabServer, visitor: Visitor) -> Iterator[Paced]:
    made = Paced(lab_server, visitor)
    yield made
    remove_class(lab_server, made.model)


def test_no_answer_to_a_learner_has_a_text_past_the_pace(paced: Paced) -> None:
    """Acceptance statement 17: every address, and every frame of the lab and of the class."""
    paced.set_pace(PACE)
    assert any(text.hint >= 0 and text.step >= PACE for text in due_texts(LESSON)), "later steps have hints"
    with page_of(paced.server, paced.model.slug, paced.ada) as page, paced.ada.socket(paced.run) as lab:
        page.until("snap")
        lab.of_kind("exercise")
        skip_all(lab)
        assert paced.heard(lab) == ["done"] * PACE + ["open"] * (len(LESSON.steps) - PACE)
        paced.for_all += plain(" ".join(paced.walk(Guest(paced.server))))
        paced.answers += paced.walk(paced.ada)
        assert page.act("raise_hand", at={"lab": f"{paced.run}/main"})["k"] == "done"
        paced.answers += [said(frame) for frame in page.frames]
        assert paced.early(PACE) == []
        paced.set_pace(PACE + 1)
        lab.until(lambda frame: frame["k"] == "exercise" and frame["steps"][PACE]["state"] == "active")
        paced.heard(lab)
        assert paced.early(PACE) and not paced.early(PACE + 1), "then the step is sent"


def test_board_tells_steps_that_were_skipped_from_those_that_were_done(paced: Paced) -> None:
    goals = [number for number, step in enumerate(LESSON.steps, 1) if step.kind == "goals"]
    with page_of(paced.server, paced.model.slug, paced.teacher) as desk, paced.ada.socket(paced.run) as lab:
        desk.until("snap")
        lab.of_kind("exercise")
        skip_all(lab)
        done = [number for number, state in enumerate(paced.heard(lab), 1) if state == "done"]
        assert set(goals) & set(done)
        desk.until_held("/people/p2 signs", {str(number): "skipped" for number in done})
        assert desk.held["/people/p2"]["settled"] == 0


def test_lesson_that_is_started_again_keeps_to_the_pace_from_its_first_frame(paced: Paced) -> None:
    """Acceptance statement 17, before the class has looked at the lab: also after a restart of the server."""
    paced.set_pace(1)
    with paced.ada.socket(paced.run) as lab:
        lab.of_kind("exercise")
        for _ in range(2):
            assert lab.ask({"k": "exercise", "op": "leave"})["k"] == "done"
            assert lab.ask({"k": "exercise", "op": "start", "exercise": LESSON.slug})["k"] == "done"
            skip_all(lab)
            assert paced.heard(lab)[:2] == ["done", "open"]
            paced.server.call(lambda _: close_classes())
    # A lesson as it was stored before the pace was set.
    progress = ExerciseProgress.objects.get(branch__run__slug=paced.run)
    progress.state = {**progress.state, "pace": 0}
    paced.server.call(lambda host: host.close_run(paced.run))
    progress.save()
    with paced.ada.socket(paced.run) as lab:
        lab.of_kind("exercise")
        skip_all(lab)
        assert paced.heard(lab)[:2] == ["done", "open"]
    assert paced.early(1) == []


def test_learner_whom_the_class_does_not_know_yet_is_kept_to_the_pace(
    paced: Paced, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acceptance statement 17: when hundreds join, the class takes note of them a moment after they have their labs."""

    async def later(*_: object) -> None:
        pass

    paced.set_pace(1)
    monkeypatch.setattr(LiveClass, "follow", later)
    bob = Guest(paced.server)
    assert bob.join(paced.model.link_key, "Bob").status == 200
    with bob.socket(Run.objects.get(learners__classroom=paced.model, learners__number=3).slug) as lab:
        lab.of_kind("exercise")
        skip_all(lab)
        assert paced.heard(lab)[:2] == ["done", "open"]
    assert paced.early(1) == []


def test_branch_that_a_learner_has_left_keeps_to_the_pace(paced: Paced) -> None:
    """Acceptance statement 17, in a lab of the class that is not on the board any more."""
    with paced.ada.socket(paced.run) as lab:
        lab.of_kind("exercise")
        forked = paced.ada.post_json(f"/api/runs/{paced.run}/main/fork", {"seq": 1})
        assert forked.status == 200
        paced.set_pace(1)
        skip_all(lab)
        lab.until(lambda frame: frame["k"] == "exercise" and frame["waits"]) if paced.heard(lab)[1] != "open" else None
        skip_all(lab)
        assert paced.heard(lab)[:2] == ["done", "open"]
    assert paced.early(1) == []


def test_labs_are_not_held_back_when_the_class_has_ended(paced: Paced) -> None:
    paced.set_pace(1)
    with paced.ada.socket(paced.run) as lab:
        lab.of_kind("exercise")
        skip_all(lab)
        assert paced.heard(lab)[:2] == ["done", "open"]
        assert paced.teacher.post(f"/classes/{paced.model.slug}/end", confirm="yes").status == 200
        lab.until(lambda frame: frame["k"] == "exercise" and frame["steps"][1]["state"] == "active")
    # A lab that was closed then is not held back either.
    progress = ExerciseProgress.objects.get(branch__run__slug=paced.run)
    paced.server.call(lambda host: host.close_run(paced.run))
    ExerciseProgress.objects.filter(pk=progress.pk).update(state={**progress.state, "pace": 1})
    with paced.ada.socket(paced.run) as lab:
        lab.of_kind("exercise")
        skip_all(lab)
        assert paced.heard(lab)[2] != "open"
    assert Participant.objects.get(classroom=paced.model, number=2).run is not None
