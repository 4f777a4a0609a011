"""Schedules of failed seeds, shrunk."""

import pytest

from lab.challenges.judge import entry_of, play_seed
from lab.challenges.loader import challenges
from lab.challenges.shrinking import shrunk

UNSAFE = {"min_insync": "1", "unclean": "true", "acks": "1", "idempotence": "false", "flush_messages": "none"}


def test_schedule_that_loses_records_shrinks_to_a_few_lines() -> None:
    challenge = challenges()["c2-settings-that-survive"]
    outcome = play_seed(challenge, entry_of(challenge, challenge.par | UNSAFE), 4)
    assert outcome.why.startswith("verdict.records_lost")
    short = shrunk(outcome)
    assert 0 < len(short) < len(outcome.typed) / 2
    assert short[0].startswith("kafka-topics.sh --create --topic orders")


@pytest.mark.parametrize("slug", ["c4-exactly-once-under-fire", "c9-who-did-it"])
def test_failures_of_other_kinds_shrink_too(slug: str) -> None:
    challenge = challenges()[slug]
    outcome = play_seed(challenge, entry_of(challenge, challenge.bad), 1)
    assert outcome.why.startswith(("verdict.output_more", "verdict.still_lost"))
    short = shrunk(outcome)
    assert 0 < len(short) < len(outcome.typed) / 2
    assert all(line in [typed.line for typed in outcome.typed] or line.startswith("sleep") for line in short)


def test_seed_that_passes_or_fails_differently_is_not_shrunk() -> None:
    challenge = challenges()["c7-shrink-it"]
    assert shrunk(play_seed(challenge, challenge.par, 1)) == ()
    assert shrunk(play_seed(challenge, challenge.bad, 1)) == ()
