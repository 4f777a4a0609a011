"""The two loops of the tests: `make test` runs all of them, `make quick` those that need only Python.

Markers follow from the fixtures and the file of a test; they are not written at each test. `make quick` leaves out what
is marked `browser`, `zookeeper`, `jvm`, `network` or `slow`, with the amount. Its budget is a minute on two quiet
cores: files that take more than some 2 s of processor time are listed in `SLOW`, except some that an edit breaks often.
"""

import gc
import os
from collections import Counter
from collections.abc import Collection, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.paths import ROOT

#: Fixtures, and the marker of the tests that use them.
BY_FIXTURE = {"playwright": "browser", "zookeeper": "zookeeper", "kazoo_store": "zookeeper", "lab_server": "network"}

#: Files whose tests start servers, JVMs or clients themselves.
BY_FILE = {
    "tests/fuzz/test_port_fuzz.py": ("network",),
    "tests/fuzz/test_tcp_failover.py": ("network",),
    "tests/lab/analytics/test_analytics.py": ("jvm",),
    "tests/lab/analytics/test_analytics_pages.py": ("jvm",),
    "tests/lab/analytics/test_analytics_command.py": ("jvm",),
    "tests/lab/analytics/test_datasource.py": ("jvm",),
    "tests/lab/analytics/test_build.py": ("jvm",),
    "tests/lab/analytics/test_ingest.py": ("jvm",),
    "tests/lab/commands/test_cluster_command.py": ("network",),
    "tests/lab/commands/test_play.py": ("zookeeper",),
    "tests/lab/commands/test_lab_command.py": ("zookeeper", "network"),
    "tests/lab/commands/test_pytest_plugin.py": ("network",),
    "tests/lab/commands/test_zk_command.py": ("zookeeper",),
    "tests/lab/runtime/test_gateway.py": ("network",),
    "tests/lab/runtime/test_host.py": ("network",),
    "tests/lab/runtime/test_host_failures.py": ("zookeeper", "network"),
    "tests/lab/runtime/test_host_ports.py": ("network",),
    "tests/lab/runtime/test_kazoo_store.py": ("zookeeper",),
    "tests/lab/runtime/test_lab_isolation.py": ("network",),
    "tests/lab/runtime/test_zookeeper.py": ("zookeeper",),
    "tests/oracle/test_real_kafka.py": ("zookeeper",),
    "tests/oracle/test_tcp_clients.py": ("network",),
    "tests/oracle/test_tcp_libraries.py": ("network",),
}

#: Files whose tests share the session of Spark. They run in one process: each process that has a session starts a JVM
#: for it, whose first build takes five times what the next one takes.
SPARK = (
    "tests/lab/analytics/test_acts_by_plain_reader.py",
    "tests/lab/analytics/test_analytics_command.py",
    "tests/lab/analytics/test_build.py",
    "tests/lab/analytics/store/test_commands_of_people.py",
    "tests/lab/analytics/test_datasource.py",
    "tests/lab/analytics/known_answers/test_definitions.py",
    "tests/lab/analytics/test_expressions.py",
    "tests/lab/analytics/test_ingest.py",
    "tests/lab/analytics/test_object_store.py",
    "tests/lab/analytics/test_learning_by_plain_reader.py",
    "tests/lab/analytics/test_table_places.py",
    "tests/lab/analytics/test_tables.py",
    "tests/lab/analytics/test_tables_of_forks.py",
    "tests/lab/analytics/test_tables_of_learning.py",
    "tests/lab/analytics/test_tables_of_runs.py",
    "tests/lab/studies/test_studies.py",
)

#: Files and tests with much to compute. The longest come first: so the processes of `make test` end at the same time.
SLOW = (
    "tests/fuzz/test_sim.py",
    "tests/oracle/test_conformance.py",
    "tests/oracle/test_scenarios.py",
    "tests/lab/exercises/test_exercise_content.py",
    "tests/core/log/test_dump_log.py",
    "tests/core/log/test_dump_resources.py",
    "tests/lab/challenges/test_content.py",
    "tests/core/sim/test_run.py",
    "tests/lab/recordings/test_forks.py",
    "tests/core/sim/test_eras.py",
    "tests/browser/test_browser_modules.py",
    "tests/core/clients/test_pipeline.py",
    "tests/core/broker/test_role_changes.py",
    "tests/fuzz/test_dump_fuzz.py",
    "tests/core/broker/test_log_manager.py",
    "tests/core/log/test_crash_at_every_byte.py",
    "tests/core/log/test_log_model.py",
    "tests/project/test_tools.py",
    "tests/core/wire/test_wire_codec.py",
    "tests/lab/commands/test_cluster_trouble.py",
    "tests/lab/challenges/test_shrinking.py",
    "tests/lab/course/test_course.py",
    "tests/project/test_life_bench.py",
    "tests/lab/recordings/test_recordings.py",
    "tests/lab/reviews/test_generators.py",
    "tests/lab/classroom/test_audience.py",
    "tests/lab/analytics/test_sql.py",
    "tests/lab/learning/test_learning_log.py",
    "tests/lab/runtime/test_pacer.py",
    "tests/core/log/test_recovery_parity.py",
    "tests/lab/journals/test_journal.py",
    "tests/lab/runtime/test_handouts.py",
    "tests/lab/classroom/test_recogniser.py",
    "tests/project/test_architecture.py",
    "tests/core/broker/test_bounded_work.py",
    "tests/lab/recordings/test_background_writes.py",
    "tests/lab/recordings/test_bounded_recordings.py",
    "tests/lab/analytics/test_spark_place.py",
    "tests/lab/door/test_door_load.py",
    "tests/lab/classroom/test_kill.py",
    "tests/core/log/test_cleaner_model.py",
    "tests/core/log/test_log_machine.py",
    "tests/core/sim/test_memory_of_engine.py",
)

#: Files and a folder of which each test may run in another process: what they share is made quickly, and the tests take
#: long. Those of the last minutes are among them, so that the processes end at the same time.
BROWSER = "tests/browser/"
SPLIT = (BROWSER, "tests/fuzz/test_sim.py")
#: Of the tests in a browser the longest, which come first.
TOUR = "tests/browser/test_browser_tour.py"

MAX_PROCESSES = 8

LEFT_OUT = ("browser", "zookeeper", "jvm", "network", "slow")
#: What is left out in whole, so that its imports cost nothing.
LEFT_OUT_FILES = frozenset({*BY_FILE, *SPARK, *SLOW})

_left_out: Counter[str] = Counter()


class FileScheduling(LoadScopeScheduling):
    """Gives each process whole files, whose tests may share a cluster; those in `SPARK` to one process; tests in
    `SPLIT` one by one.

    No more browsers run at once than there are cores. A page that plays draws as long as it is open, so that a test
    costs the more processor time the longer it waits for its turn.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        if file in SPARK:
            return "Spark"
        return nodeid if file.startswith(SPLIT) else file

    def _assign_work_unit(self, node: Any) -> None:
        """Ends a process instead, when only tests in a browser are left and enough others run those."""
        if next(iter(self.workqueue)).startswith(BROWSER) and self._browsers_beside(node) >= _cores():
            node.shutdown()
        else:
            super()._assign_work_unit(node)

    def _browsers_beside(self, node: Any) -> int:
        return sum(
            any(scope.startswith(BROWSER) and False in tests.values() for scope, tests in work.items())
            for other, work in self.assigned_work.items()
            if other is not node
        )


def _cores() -> int:
    return len(os.sched_getaffinity(0))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    """The scheduler of `make test` and `make quick`."""
    return FileScheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """The number of processes of `-n auto`: one more than cores, as tests wait for browsers, JVMs and servers.

    The tests of `make quick` compute and do not wait.
    """
    return _cores() if config.getoption("--quick") else min(_cores() + 1, MAX_PROCESSES)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--quick`."""
    parser.addoption("--quick", action="store_true", help="leave out what is not for `make quick`")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether `--quick` leaves a file out, which pytest then does not import; None leaves that to others."""
    name = _place(collection_path)
    if not config.getoption("--quick") or not (name in LEFT_OUT_FILES or f"{name}/" == BROWSER):
        return None
    _left_out["files"] += 1
    return True


def markers_of(item: pytest.Item) -> set[str]:
    """Which of the markers of this module a test has."""
    file = _file(item)
    found = set(BY_FILE.get(file, ()))
    found |= {marker for fixture, marker in BY_FIXTURE.items() if fixture in getattr(item, "fixturenames", ())}
    callspec = getattr(item, "callspec", None)
    if callspec is not None and callspec.params.get("store") == "zookeeper":
        found.add("zookeeper")
    if "zookeeper" in found or _shares_spark(item):
        found.add("jvm")
    if file in SLOW:
        found.add("slow")
    return found


def _shares_spark(item: pytest.Item) -> bool:
    """Whether a test uses the session of Spark. Raises UsageError if its file is not in `SPARK`."""
    fixtures = getattr(item, "_fixtureinfo", None)
    shared = fixtures is not None and any(
        one.scope == "session" for one in fixtures.name2fixturedefs.get("session", ())
    )
    if shared and _file(item) not in SPARK:
        raise pytest.UsageError(f"{item.nodeid} uses Spark's session: add its file to SPARK in tests/support/loops.py")
    return shared


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests, puts them in order, and leaves out what `--quick` does not run. Runs last: pytest itself moves
    the tests that share a parameter of the session, such as the browser's name, together.

    Tests in a browser come last: no other test could run an event loop of its own after them.
    """
    kept, left_out = [], []
    for item in items:
        markers = markers_of(item)
        for marker in sorted(markers):
            item.add_marker(marker)
        if config.getoption("--quick") and not markers.isdisjoint(LEFT_OUT):
            left_out.append(item)
            _left_out["tests"] += 1
        else:
            kept.append(item)
    config.hook.pytest_deselected(items=left_out)
    # A process runs whole files, so a file with one test in a browser comes last with all its tests.
    in_browser = {_file(item) for item in kept if item.get_closest_marker("browser") is not None}
    items[:] = sorted(kept, key=lambda item: _order(item, in_browser))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Takes what was imported and collected out of garbage collection: it lives as long as the process, and going
    through it takes up to half a second each time.
    """
    gc.collect()
    gc.freeze()


def _order(item: pytest.Item, in_browser: Collection[str]) -> tuple[bool, int, str]:
    file = _file(item)
    if file in in_browser:
        return True, 0 if file == TOUR else 1, file
    if file in SPARK:
        return False, -2, file
    if item.get_closest_marker("jvm") is not None:
        return False, -1, file
    return False, SLOW.index(file) if file in SLOW else len(SLOW), file


def _file(item: pytest.Item) -> str:
    return _place(item.path)


@cache
def _place(path: Path) -> str:
    """Asked several times for each of thousands of tests."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


# The counts of each process reach the one that prints the summary.


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, Any, Any]:
    """Hands the counts over, in a process of pytest-xdist."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = dict(_left_out)
    return (yield)


class Summary:
    """In the process that prints."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Each process has collected all tests, so each one's counts are the same."""
        counted = getattr(node, "workeroutput", {}).get("left_out")
        if counted:
            _left_out.clear()
            _left_out.update(counted)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Says what was left out."""
        if _left_out:
            files, tests = _left_out["files"], _left_out["tests"]
            why = "a browser, ZooKeeper, a JVM, the network or seconds"
            terminalreporter.write_line(f"left out: {files} files or folders and {tests} tests that take {why}")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers."""
    for marker, said in {
        "browser": "runs in Chromium",
        "zookeeper": "starts or uses a real ZooKeeper",
        "jvm": "starts a JVM: ZooKeeper or Spark",
        "network": "listens on a port of loopback",
        "slow": "computes for seconds; not in make quick",
    }.items():
        config.addinivalue_line("markers", f"{marker}: {said}")
    config.pluginmanager.register(Summary(), "highwater-loops")
