"""Shared fixtures: a real ZooKeeper, stores of both kinds, a browser, numbers of rounds."""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from hypothesis import HealthCheck, is_hypothesis_test, settings

from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ZkStore
from lab.management.commands.lab import prepare_data_folder, prepare_database
from lab.runtime.zookeeper.kazoo_store import KazooStore
from lab.runtime.zookeeper.server import EmbeddedZookeeper
from tests.support.lab_server import LabServer, Visitor
from tests.support.soak import IS_SOAK
from tools.ensure_chromium import ensure_chromium

pytest_plugins = ["tests.no_skips", "tests.support.loops", "tests.support.lab_page", "lab.testing"]

# How long an example takes says something about the machine, not about the code. Examples are the same in each run, so
# that a test fails for what was changed, and not by the day; `make soak` draws new ones.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=not IS_SOAK
)
settings.load_profile("any machine")

# Playwright keeps an event loop running in the main thread, where Django would refuse to touch the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
os.environ["HIGHWATER_SHEDS_LOAD"] = "0"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that draw examples as soak tests."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("soak")


@pytest.fixture(scope="session")
def rounds() -> Callable[[int], int]:
    """The number of rounds of a random test: all under `make soak`, otherwise a twentieth."""
    return lambda full: full if IS_SOAK else max(1, full // 20)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Chromium as found by `make test`, with arguments for running as root and in small containers."""
    path, _ = ensure_chromium()
    return {
        **browser_type_launch_args,
        "executable_path": path,
        "args": ["--no-sandbox", "--disable-dev-shm-usage"],
    }


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory) -> Iterator[EmbeddedZookeeper]:
    """A running server for the whole session: use a separate chroot for each test."""
    with EmbeddedZookeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture(scope="session")
def _chroot_numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def chroot(_chroot_numbers) -> str:
    """An unused path on the server."""
    return f"/test-{next(_chroot_numbers)}"


@pytest.fixture
def kazoo_store(zookeeper, chroot) -> Iterator[KazooStore]:
    store = KazooStore(zookeeper.address, chroot)
    yield store
    store.close(remove=True)


@pytest.fixture(params=["memory", "zookeeper"])
def store(request) -> ZkStore:
    """A store of each kind in turn."""
    make: dict[str, Callable[[], ZkStore]] = {
        "memory": MemoryStore,
        "zookeeper": lambda: request.getfixturevalue("kazoo_store"),
    }
    return make[request.param]()


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory) -> Iterator[Path]:
    """The data folder of the tests."""
    data = tmp_path_factory.mktemp("data")
    places = {"RUNS": data / "runs", "TABLES": data / "tables", "SECRET_KEY_FILE": data / "secret-key"}
    # What a password's hash costs is not tested; the settings of the lab keep Django's.
    hashers = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(DATA=data, PASSWORD_HASHERS=hashers, **places):
        prepare_data_folder(data)
        yield data


@pytest.fixture(scope="session")
def database(data_folder, django_db_blocker) -> Iterator[None]:
    """A database in a file, which the server's thread also uses."""
    before = connection.settings_dict["NAME"]
    connection.settings_dict["NAME"] = data_folder / "lab.sqlite3"
    with django_db_blocker.unblock():
        # A command may have opened the database of before.
        connection.close()
        prepare_database()
        yield
        connection.close()
    connection.settings_dict["NAME"] = before


@pytest.fixture(scope="session")
def django_db_setup(database) -> None:
    """pytest-django's fixtures use this database, too: the one that they would make in memory would take its place in a
    server that runs already.
    """


@pytest.fixture(scope="session")
def lab_server(database) -> Iterator[LabServer]:
    """The lab's server. Clusters use a ZooKeeper in memory."""
    server = LabServer()
    yield server
    server.stop()


@pytest.fixture
def visitor(lab_server) -> Iterator[Visitor]:
    """A signed-in visitor. Labs that the test leaves playing are paused after it."""
    yield Visitor(lab_server).sign_in()
    lab_server.pause_labs()


@pytest.fixture
def other_visitor(lab_server) -> Visitor:
    """Another signed-in visitor."""
    return Visitor(lab_server).sign_in_as("somebody-else")
