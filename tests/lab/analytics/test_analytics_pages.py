"""The analytics of a run over HTTP: the page, its job, its figures, and rights."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from lab.analytics.jobs import analyst
from lab.analytics.orders import StartTask
from lab.analytics.store.builds import build_name
from lab.api import analytics
from lab.recordings.folder import BranchFolder
from tests.support.lab_server import Visitor


@pytest.fixture(autouse=True)
def _no_worker_runs() -> Iterator[None]:
    """Stops the worker that a page of another test started."""
    analyst().stop()
    yield
    analyst().stop()


@pytest.fixture
def run(visitor: Visitor) -> str:
    """A run in which something was produced."""
    slug = visitor.new_run(name="to be analysed")
    with visitor.socket(slug) as socket:
        socket.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
        socket.run("producer open p1 --acks all")
        socket.run("producer send p1 orders-0 a:1 b:2 c:3")
        socket.ask({"k": "time", "op": "pause"})
    return slug


def finished(visitor: Visitor, address: str, limit_s: float = 600) -> dict[str, Any]:
    deadline_s = time.monotonic() + limit_s
    while True:
        answer: dict[str, Any] = visitor.get(address).json
        if answer["state"] in ("done", "failed"):
            return answer
        assert time.monotonic() < deadline_s, answer
        time.sleep(0.1)


@pytest.mark.parametrize("place", ["ftp://nowhere/tables", "damaged"])
def test_page_is_shown_although_tables_cannot_be_read(
    visitor: Visitor, run: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its request for the tables fails."""
    if place == "damaged":
        (tmp_path / build_name(1)).parent.mkdir(parents=True)
        (tmp_path / build_name(1)).write_bytes(b"?")
        place = str(tmp_path)
    monkeypatch.setattr(settings, "TABLES", place)
    assert visitor.get(f"/r/{run}/main/analytics").status == 200
    assert visitor.get(f"/api/runs/{run}/main/analytics/tables.json").status == 503


def test_page_does_not_wait_for_an_object_store(visitor: Visitor, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[BranchFolder] = []
    monkeypatch.setattr(analytics, "is_made", asked.append)
    monkeypatch.setattr(settings, "TABLES", "s3://bucket/tables")
    assert visitor.get(f"/r/{run}/main/analytics").status == 200
    assert not asked and not analyst().is_running


def test_tables_of_a_run_are_built_and_then_served_without_spark(
    visitor: Visitor, other_visitor: Visitor, run: str
) -> None:
    page = visitor.get(f"/r/{run}/main/analytics")
    assert page.status == 200
    assert "hw-analytics" in page.text
    # Spark starts while the page loads, and stops warming up when the page asks for tables.
    ahead = [job for job in analyst()._jobs.values() if isinstance(job.task, StartTask)][-1]
    assert not ahead.is_over
    assert analyst().is_running
    assert "style-src 'self' 'unsafe-inline'" in page.headers["Content-Security-Policy"]
    assert other_visitor.get(f"/r/{run}/main/analytics").status == 404

    api = f"/api/runs/{run}/main/analytics/tables"
    before = visitor.get(f"{api}.json").json
    assert (before["made_to"], before["figures"]) == (0, {}) and before["last_seq"] > 100
    job = visitor.post_json(f"{api}/start", {"priority": "build"}).json["job"]
    assert analyst()._jobs[job].priority == "build"
    assert visitor.post_json(f"{api}/start", {}).json["job"] == job
    assert analyst()._jobs[job].priority == "page"
    answer = finished(visitor, f"{api}/{job}.json")
    assert (answer["state"], answer["progress"], answer["error"]) == ("done", 1.0, None)
    assert answer.keys() == {"state", "progress", "stage", "published", "error"}
    assert ahead.is_over
    assert answer["published"] == 3  # the first charts came before the others
    analyst().stop()

    shown = visitor.get(f"{api}.json").json
    assert shown["made_to"] == shown["last_seq"] == before["last_seq"] and shown["damage"] == []
    assert list(shown["figures"])[:4] == ["offsets", "isr", "latency", "rpcs"]
    latency = shown["figures"]["latency"]["data"][0]
    assert (latency["name"], latency["y"][-1]) == ("acks=all · 3 batches", 100)
    # The event of a point can be sought.
    assert visitor.get(f"/api/runs/{run}/main/seek?seq={latency['customdata'][0][1]}").status == 200
    assert {"lag", "throughput", "produce_stages", "rpc_timings", "disk_growth"} <= set(shown["figures"])
    written = shown["figures"]["throughput"]["table"]
    records = sum(row[written["columns"].index("records")] or 0 for row in written["rows"])
    assert records == 3
    assert visitor.get(f"/r/{run}/main/analytics").status == 200
    assert not analyst().is_running
    text = visitor.get(f"{api}/throughput.csv").text
    assert text.startswith("run,branch,topic,incarnation,partition,bucket") and "orders" in text
    assert visitor.get(f"{api}/nothing.csv").status == 404
    # another user
    for address in (f"{api}.json", f"{api}/{job}.json", f"{api}/throughput.csv"):
        assert other_visitor.get(address).status == 404
    assert other_visitor.post_json(f"{api}/start", {}).status == 404


def test_analytics_requires_sign_in(lab_server, run: str) -> None:
    stranger = Visitor(lab_server)
    answer = stranger.get(f"/api/runs/{run}/main/analytics/tables/j1.json")
    assert answer.status == 401
    assert set(answer.json) == {"what", "expected", "todo"}
    assert "/sign-in/" in stranger.get(f"/r/{run}/main/analytics").url


def test_unknown_job_is_one_clear_message(visitor: Visitor, run: str) -> None:
    answer = visitor.get(f"/api/runs/{run}/main/analytics/tables/j999.json")
    assert answer.status == 404
    assert answer.json["what"] == "Unknown analysis 'j999' of this branch."
    assert visitor.post_json(f"/api/runs/{run}/main/analytics/tables/j999/cancel", {}).status == 404
