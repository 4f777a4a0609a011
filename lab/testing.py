"""A Kafka cluster for other projects' tests, as a pytest fixture: real ports, and the shell's verbs for faults.

    # conftest.py
    pytest_plugins = ["lab.testing"]

    # test_mine.py
    def test_it_survives_its_leader(highwater):
        highwater.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
        my_producer(bootstrap_servers=highwater.bootstrap).send_one()
        highwater.run("broker kill 1")
        highwater.run('wait "isr orders-0 == [2,3]" 30s')

Each test gets a fresh cluster, and it runs in real time. `@pytest.mark.highwater(brokers=(1,), era="2.4",
config={"num.partitions": "3"})` chooses another one. See docs/TESTING_WITH_HIGHWATER.md.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
import pytest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")

from broker_core.eras import DEFAULT_ERA
from broker_core.events.console import CommandCompleted, CommandPrinted, shown
from lab.recordings.folder import branch_folder
from lab.runtime.engine import RunConfig
from lab.runtime.headless.standalone import standalone
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun, PublishedUpdate
from lab.runtime.pacer import wall_ms

T = TypeVar("T")
#: exit code and printed lines of a command that runs
Ended: TypeAlias = "Future[tuple[int, list[str]]]"

START_S = 60.0
OBSERVER = 0
"""The user id of no user."""


class CommandFailed(AssertionError):
    """A line ended with an exit code other than 0; the message is what it printed."""


class Highwater:
    """A running cluster. Use it from the test's thread; close it when done (the fixture does)."""

    def __init__(
        self,
        folder: Path,
        brokers: Sequence[int] = (1, 2, 3),
        era: str = DEFAULT_ERA,
        config: dict[str, str] | None = None,
        seed: int = 0,
        config_of_broker: dict[int, dict[str, str]] | None = None,
    ) -> None:
        """Starts it and returns when its ports are open. `config` holds for every broker, `config_of_broker` for one;
        the recording and the brokers' files are in `folder`. Raises ClusterError and ConfigException for a cluster that
        cannot be.
        """
        self.folder = folder
        self._config = RunConfig(
            name="test",
            seed=seed,
            brokers=tuple(brokers),
            era=era,
            start_wall_ms=wall_ms(),
            broker_config=config or {},
            config_of_broker=config_of_broker or {},
            latency_us=0,
            jitter_us=0,
        )
        self._commands = _Commands()
        self._lab: Lab
        self._loop: asyncio.AbstractEventLoop
        self._ended: asyncio.Event
        self.ports: dict[int, int] = {}
        """By broker id."""
        self.bootstrap = ""
        """`bootstrap.servers` for a client: HOST:PORT of all brokers, commas between."""
        started: Future[None] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live(started)), daemon=True)
        self._thread.start()
        started.result(START_S)

    def run(self, line: str, timeout_s: float = 30.0) -> list[str]:
        """Runs a line of the shell grammar (Kafka's tools, `broker kill 1`, `link cut 1 2`, `wait ...`) to its end and
        returns what it printed.

        Raises CommandFailed when it ends with an error, ShellError when it is not a command, TimeoutError.
        """

        def submit(live: LiveRun) -> tuple[int, Ended]:
            number = live.run.submit(line, "test")
            return number, self._commands.end_of(number)

        number, ended = self._do(submit)
        try:
            code, printed = ended.result(timeout_s)
        except Late:
            self._do(lambda live: live.run.interrupt(number))
            raise TimeoutError(f"`{line}` has not ended within {timeout_s:g} s; its end was expected.") from None
        if code:
            raise CommandFailed("\n".join([f"`{line}` ended with {code}:", *printed]))
        return printed

    def view(self) -> dict[str, Any]:
        """The state that the page shows, as a tree: `view()["partitions"]["orders-0"]["isr"]`."""
        return dict(msgspec.json.decode(self._do(lambda live: live.snapshot().state)))

    def close(self) -> None:
        """Ends the cluster. Its files stay."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()

    def _do(self, job: Callable[[LiveRun], T]) -> T:
        return asyncio.run_coroutine_threadsafe(self._lab.act(job), self._loop).result(START_S)

    async def _live(self, started: "Future[None]") -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            folder = branch_folder("test", "main", runs=self.folder)
            async with standalone(folder, self._config, dict.fromkeys(self._config.brokers, 0)) as (lab, gateway):
                self._lab, self.ports, self.bootstrap = lab, dict(gateway.ports), gateway.bootstrap
                lab.observers[OBSERVER] = self._commands
                started.set_result(None)
                await self._ended.wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)


class _Commands:
    """Listens for what commands print and how they end. All in the lab's thread."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[list[str], Ended]] = {}

    def end_of(self, number: int) -> Ended:
        """Returns the future result of a command that was just submitted."""
        ended: Ended = Future()
        self._running[number] = ([], ended)
        return ended

    def happened(self, live: LiveRun, batch: PublishedUpdate) -> None:
        for *_, event in batch.envelopes:
            if isinstance(event, CommandPrinted) and event.command in self._running:
                self._running[event.command][0].extend(map(shown, event.lines))
            elif isinstance(event, CommandCompleted) and event.command in self._running:
                printed, ended = self._running.pop(event.command)
                ended.set_result((event.exit_code, printed))

    def stopped(self) -> None:
        running, self._running = self._running, {}
        for _, ended in running.values():
            ended.set_exception(RuntimeError("the lab's observer of commands failed; its log says why"))


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line(
        "markers",
        "highwater(brokers=(1, 2, 3), era='3.9', config={}, seed=0, config_of_broker={}): the cluster that `highwater` "
        "starts",
    )


@pytest.fixture
def highwater(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Highwater]:
    """A fresh cluster, three brokers unless `@pytest.mark.highwater(...)` says otherwise."""
    marker = request.node.get_closest_marker("highwater")
    cluster = Highwater(tmp_path / "highwater", **(marker.kwargs if marker else {}))
    yield cluster
    cluster.close()
