"""What brokers of older eras offer to clients by TCP, against what real ones answered."""

import json
from typing import Any

import pytest

from broker_core.eras import ERAS
from broker_core.run import Run, RunConfig
from broker_core.sim.simulated_disk import SimulatedDisk
from broker_core.wire.framing import decode_response, encode_request
from broker_core.wire.schemas import BY_NAME, SCHEMAS, offered
from broker_core.zk.memory_store import MemoryStore
from tests.support.paths import DATA

SURVEYS = DATA / "eras"
SECOND_US = 1_000_000
NAMED = {"client_software_name": "kit", "client_software_version": "1.0"}


def outputs(era: str, api: str, version: int, **fields: Any) -> list[bytes | None]:
    """What a broker of the era sends to somebody who asks one thing; None: it hangs up."""
    run = Run(RunConfig(brokers=(0,), era=era, latency_us=0, jitter_us=0), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(2 * SECOND_US)
    connection = run.connect(0, "127.0.0.1")
    schema = BY_NAME[api]
    run.frame(connection, encode_request(schema, version, schema.request.type(**fields), client_id="kit")[4:])
    run.advance(run.now_us + SECOND_US)
    return [data for _, data in run.take_outputs()]


def api_versions(era: str, version: int, answered_in: int) -> tuple[int, list[tuple[int, int, int]]]:
    """The error and the ranges."""
    (data,) = outputs(era, "ApiVersions", version, **NAMED)
    assert data is not None
    _, answer = decode_response(BY_NAME["ApiVersions"], answered_in, data[4:])
    return answer.error_code, [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys]


@pytest.mark.parametrize("era", ["0.10", "1.1", "2.4", "3.9"])
def test_the_ranges_are_those_that_real_brokers_told(era: str) -> None:
    survey = json.loads((SURVEYS / ERAS[era].release / "survey.json").read_text())
    error, ranges = survey["api_versions(error,[key,min,max])"]
    assert api_versions(era, 0, answered_in=0) == (error, [tuple(told) for told in ranges])


@pytest.mark.parametrize("era", list(ERAS))
def test_every_version_that_an_era_offers_has_a_table(era: str) -> None:
    for key, (least, greatest) in offered(ERAS[era]).items():
        assert SCHEMAS[key].offers(least) and SCHEMAS[key].offers(greatest)


def test_a_client_that_is_too_new_learns_what_to_ask() -> None:
    """Since 2.4 with the versions that it may use (KIP-511); the answer has version 0."""
    assert api_versions("0.10", 3, answered_in=0) == (35, [])
    assert api_versions("1.1", 2, answered_in=0) == (35, [])
    assert api_versions("2.4", 4, answered_in=0) == (35, [(18, 0, 3)])
    assert api_versions("2.4", 3, answered_in=3)[0] == 0


def test_a_broker_hangs_up_on_what_its_era_did_not_know() -> None:
    assert outputs("0.8", "ApiVersions", 0) == [None]
    assert outputs("0.10", "Metadata", 3, topics=None) == [None]
    assert outputs("0.10", "Metadata", 2, topics=None) != [None]
    assert outputs("1.1", "DeleteGroups", 1) == [None]
