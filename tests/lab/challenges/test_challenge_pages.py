"""The pages of challenges: entries, their judgement in the background, verdicts."""

import csv
import io
import os
import re
import subprocess
import sys
import time

import msgspec
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from lab.challenges.challenge_page import BINS, Bar, spread
from lab.challenges.judge import entry_of
from lab.challenges.loader import challenges
from lab.challenges.worker import Order
from lab.models import ChallengeEntry
from lab.rights import LOCAL_USER
from tests.support.lab_server import LabServer, Visitor

C7 = "c7-shrink-it"
C9 = "c9-who-did-it"
C10 = "c10-on-call"
PATIENCE_S = 600.0


def submit(visitor: Visitor, slug: str, form: dict[str, str]) -> int:
    """Submits an entry; its number."""
    answer = visitor.post(f"/challenges/{slug}/judge", **form)
    found = re.search(r"entry=(\d+)", answer.url)
    assert found is not None, answer.text[-400:]
    return int(found[1])


def judged(visitor: Visitor, slug: str, entry: int) -> str:
    """The page of an entry once its judgement is over."""
    deadline_s = time.monotonic() + PATIENCE_S
    while visitor.get(f"/challenges/{slug}/entries/{entry}.json").json["state"] == "judging":
        assert time.monotonic() < deadline_s
        time.sleep(0.2)
    return str(visitor.get(f"/challenges/{slug}/?entry={entry}").text)


@pytest.mark.parametrize("slug", list(challenges()))
def test_page_of_each_challenge_in_both_languages(visitor: Visitor, slug: str) -> None:
    challenge = challenges()[slug]
    assert challenge.title.en in visitor.get(f"/challenges/{slug}/").text
    text = visitor.get(f"/challenges/{slug}/?language=zh-CN").text
    assert challenge.title.zh in text
    for field in challenge.fields:
        assert f'name="{field.name}"' in text


def test_entry_is_judged_and_its_seed_opens_as_a_run(visitor: Visitor) -> None:
    challenge = challenges()[C7]
    entry = submit(visitor, C7, challenge.par)
    text = judged(visitor, C7, entry)
    assert "5 of 5 seeds" in text
    assert challenge.later.en.split(",")[0] in text
    assert "Best entry known" in text
    opened = visitor.post(f"/challenges/{C7}/entries/{entry}/open")
    verdict = ChallengeEntry.objects.get(pk=entry).verdict
    assert verdict is not None
    at_us = verdict["shown"]["at_us"]
    assert re.search(rf"/r/[a-z0-9]+/main\?t={(at_us - 1) // 1_000_000}\.\d{{6}}$", opened.url)
    run = opened.url.split("/r/")[1].split("/")[0]
    lines = [row["line"] for row in visitor.get(f"/api/runs/{run}/main/commands").json]
    assert lines[0].startswith("kafka-topics.sh --create --topic twins")
    bad = submit(visitor, C7, challenge.bad)
    text = judged(visitor, C7, bad)
    assert 'class="outcome failed"' in text
    rows = list(csv.DictReader(io.StringIO(visitor.get("/learning/export.csv").text)))
    assert [row["right"] for row in rows if row["kind"] == "challenge" and row["lesson"] == C7] == ["true", "false"]


def test_lines_of_a_reduced_script_stay_lines(visitor: Visitor) -> None:
    entry = submit(visitor, C7, challenges()[C7].bad)
    judged(visitor, C7, entry)
    found = ChallengeEntry.objects.get(pk=entry)
    assert found.verdict is not None
    found.verdict["short"] = ["broker kill 1", "sleep 1s"]
    found.save()
    assert "broker kill 1\nsleep 1s\n</pre>" in visitor.get(f"/challenges/{C7}/?entry={entry}").text


def test_answers_of_the_case_are_counted(visitor: Visitor) -> None:
    """Those that were judged. That a wrong one has no score: test_content.py."""
    challenge, user = challenges()[C9], User.objects.get(username=LOCAL_USER)
    state = ChallengeEntry.State
    for ended, verdict in ((state.JUDGED, {}), (state.JUDGED, {}), (state.CANCELLED, None)):
        ChallengeEntry.objects.create(user=user, challenge=C9, fields=challenge.bad, state=ended, verdict=verdict)
    entry = submit(visitor, C9, challenge.par)
    judged(visitor, C9, entry)
    assert ChallengeEntry.objects.get(pk=entry).score == 3


def test_refused_entry_stays_in_the_form(visitor: Visitor) -> None:
    answer = visitor.post("/challenges/c3-two-owners/judge", script="consumer stop c1")
    assert answer.status == 400
    assert "Line 1: consumer stop is not allowed in this challenge." in answer.text
    assert "consumer stop c1</textarea>" in answer.text


def test_judgement_can_be_cancelled_and_one_runs_at_a_time(visitor: Visitor) -> None:
    slug = "c2-settings-that-survive"
    entry = submit(visitor, slug, challenges()[slug].par)
    busy = visitor.post(f"/challenges/{slug}/judge", **challenges()[slug].par)
    assert (busy.status, "Another entry of yours is being judged." in busy.text) == (409, True)
    visitor.post(f"/challenges/{slug}/entries/{entry}/cancel")
    assert "The judgement was cancelled." in judged(visitor, slug, entry)


def test_entries_of_others_and_unknown_challenges_are_not_found(visitor: Visitor, other_visitor: Visitor) -> None:
    entry = submit(visitor, C7, challenges()[C7].bad)
    judged(visitor, C7, entry)
    assert other_visitor.get(f"/challenges/{C7}/entries/{entry}.json").status == 404
    assert other_visitor.post(f"/challenges/{C7}/entries/{entry}/open").status == 404
    assert visitor.get("/challenges/c11-none/").status == 404


def test_case_of_c9_opens_as_a_run(visitor: Visitor) -> None:
    opened = visitor.post("/challenges/c9-who-did-it/case")
    run = opened.url.split("/r/")[1].split("/")[0]
    lines = [row["line"] for row in visitor.get(f"/api/runs/{run}/main/commands").json]
    assert "hold fetch 3 2" in lines
    assert visitor.post(f"/challenges/{C10}/case").status == 404


def test_spread_is_shown_from_five_entries_on(visitor: Visitor, lab_server: LabServer) -> None:
    challenge = challenges()["c6-fewest-requests"]

    def bars_of(*scores: float) -> list[Bar]:
        user = User.objects.get(username=LOCAL_USER)
        for score in scores:
            ChallengeEntry.objects.create(user=user, challenge=challenge.slug, fields=challenge.par, score=score)
        return spread(challenge, 81.0)

    async def few(host):
        return await sync_to_async(bars_of)(70, 70, 80, 190)

    async def enough(host):
        return await sync_to_async(bars_of)(110)

    assert lab_server.call(few) == []
    bars = lab_server.call(enough)
    assert len(bars) == BINS
    assert sum(bar.entries for bar in bars) == 5
    assert [place for place, bar in enumerate(bars) if bar.is_own] == [1]
    assert bars[0].height == 100


def test_entry_whose_judge_died_has_no_verdict(visitor: Visitor, lab_server: LabServer) -> None:
    page = visitor.get(f"/challenges/{C10}/")
    assert page.status == 200

    async def abandoned(host):
        user = await User.objects.aget(username=LOCAL_USER)
        entry = await ChallengeEntry.objects.acreate(user=user, challenge=C10, fields=challenges()[C10].par)
        return entry.pk

    entry = lab_server.call(abandoned)
    assert "The judge ended without a verdict" in visitor.get(f"/challenges/{C10}/?entry={entry}").text


def test_process_that_judges_ends_with_the_lab() -> None:
    """A lab that is killed closes its end of the pipe, and does not need the verdict any more."""
    challenge = challenges()["c5-ten-rebalances"]
    order = msgspec.json.encode(Order(challenge.slug, entry_of(challenge, challenge.par)))
    command = [sys.executable, "-m", "lab.challenges.worker"]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "lab.settings"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(order + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(PATIENCE_S) == 1 and b"verdict" not in rest
