"""Jobs as seen by pages: progress, cancellation, and the limit per person."""

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from lab.analytics.build.found import branch_id
from lab.analytics.build.logs import learner_log
from lab.analytics.build.people import pseudonym
from lab.analytics.jobs import MAX_OF_PERSON, Job, analyst
from lab.analytics.orders import BuildTask
from tests.support.classroom.people import make_class
from tests.support.lab_server import Visitor

LESSON = "/api/course/006-the-lost-record/analytics/tables"
Plant = Callable[..., Job]


@pytest.fixture
def plant() -> Iterator[Plant]:
    """Queues a job that no worker gets."""
    planted: list[Job] = []

    def one(of: str, requester_id: int | None = None) -> Job:
        job = Job(f"p{len(planted)}", of, BuildTask("", ()), requester_id=requester_id)
        analyst()._jobs[job.id] = job
        planted.append(job)
        return job

    yield one
    for job in planted:
        analyst()._jobs.pop(job.id, None)


def user_named(name: str) -> User:
    return User.objects.get(username=name)


def test_jobs_of_a_lesson_are_followed_and_cancelled_by_their_owner(
    visitor: Visitor, other_visitor: Visitor, plant: Plant
) -> None:
    visitor.sign_in_as("job-learner")
    other_visitor.sign_in_as("job-other")
    job = plant(learner_log(pseudonym(settings.DATA, user_named("job-learner").pk)))
    queued = visitor.get(f"{LESSON}/{job.id}.json").json
    assert queued == {"state": "queued", "progress": 0.0, "stage": "", "error": None, "published": 0}
    assert other_visitor.get(f"{LESSON}/{job.id}.json").status == 404
    assert other_visitor.post_json(f"{LESSON}/{job.id}/cancel", {}).status == 404
    assert job.state == "queued"
    assert visitor.post_json(f"{LESSON}/{job.id}/cancel", {}).json == {"state": "cancelled"}
    assert visitor.get(f"{LESSON}/{job.id}.json").json["state"] == "cancelled"
    assert visitor.get(f"{LESSON}/{job.id}/cancel").status == 405


def test_staff_cancel_jobs_over_all_learners_and_of_their_class(
    visitor: Visitor, other_visitor: Visitor, plant: Plant
) -> None:
    visitor.sign_in_as("job-staff")
    User.objects.filter(username="job-staff").update(is_staff=True)
    other_visitor.sign_in_as("job-other")
    every = plant("lessons")
    assert other_visitor.post_json(f"{LESSON}/{every.id}/cancel", {}).status == 404 and every.state == "queued"
    assert visitor.post_json(f"{LESSON}/{every.id}/cancel", {}).json == {"state": "cancelled"}
    room = make_class(user_named("job-staff"))
    try:
        for of in (f"live:{room.slug}", f"class:{room.slug}"):
            job = plant(of)
            address = f"/api/classes/{room.slug}/analytics/tables/{job.id}"
            assert other_visitor.post_json(f"{address}/cancel", {}).status == 404
            assert visitor.post_json(f"{address}/cancel", {}).json == {"state": "cancelled"}
            assert visitor.get(f"{address}.json").json["state"] == "cancelled"
    finally:
        room.delete()


def test_waiting_jobs_per_person_are_limited(visitor: Visitor, plant: Plant) -> None:
    visitor.sign_in_as("job-eager")
    slug = visitor.new_run(brokers="1")
    user = user_named("job-eager")
    for n in range(MAX_OF_PERSON):
        plant(f"other{n}/main", requester_id=user.pk)
    start = f"/api/runs/{slug}/main/analytics/tables/start"
    refused = visitor.post_json(start, {})
    assert refused.status == 429
    assert refused.json["what"] == f"Your {MAX_OF_PERSON} earlier analyses are not done yet."
    assert not [job for job in analyst()._jobs.values() if job.of == branch_id(slug, "main")]
    # A job in progress does not count as new.
    joined = plant(branch_id(slug, "main"))
    assert visitor.post_json(start, {}).json["job"] == joined.id
