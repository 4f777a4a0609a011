"""`manage.py zk` on a real server."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


@pytest.fixture
def zk(zookeeper, chroot, kazoo_store):
    """Runs `manage.py zk ARGUMENTS` on a branch; what it printed."""
    session = kazoo_store.open_session("broker-1")
    kazoo_store.create(session, "/brokers/ids/1", b'{"version":5}', ephemeral=True, makepath=True)

    def run(*arguments: str) -> str:
        printed = StringIO()
        call_command("zk", "--address", f"{zookeeper.address}{chroot}", *arguments, stdout=printed)
        return printed.getvalue()

    return run


def test_zk_command_reads_znodes(zk) -> None:
    assert zk("ls") == "[brokers]\n"
    assert zk("ls", "/brokers/ids") == "[1]\n"
    assert zk("get", "/brokers/ids/1") == '{"version":5}\n'
    assert zk("get", "/brokers") == "null\n"
    assert zk("tree", "/brokers").splitlines() == [
        "/brokers = null",
        "/brokers/ids = null",
        '/brokers/ids/1 (ephemeral) = {"version":5}',
    ]
    assert "dataVersion = 0\ncversion = 1\n" in zk("stat", "/brokers/ids")


def test_zk_command_changes_znodes(zk, kazoo_store) -> None:
    assert zk("create", "/config", "a") == "Created /config\n"
    assert zk("set", "/config", "b") == "dataVersion = 1\n"
    assert kazoo_store.get(0, "/config")[0] == b"b"
    assert zk("delete", "/config") == "Deleted /config\n"
    assert kazoo_store.exists(0, "/config") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["get", "/nosuch"], "Node does not exist: /nosuch"),
        (["create", "/brokers"], "Node already exists: /brokers"),
        (["delete", "/brokers"], "Node not empty: /brokers"),
        (["create", "/brokers/ids/1/x"], "Ephemerals cannot have children: /brokers/ids/1/x"),
        (["get", "brokers"], "A path starts with /"),
        (["delete", "/"], "/ stays"),
        (["set", "/brokers"], "The data for /brokers is missing"),
        (["get", "/brokers", "x"], "get does not take data"),
    ],
)
def test_zk_command_reports_refusals(zk, arguments, message) -> None:
    with pytest.raises(CommandError, match=message.replace("?", r"\?")):
        zk(*arguments)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("somewhere", "Invalid ZooKeeper address somewhere. Expected HOST:PORT"),
        ("127.0.0.1:1", "No ZooKeeper responds at"),
    ],
    ids=["no address", "nobody there"],
)
def test_invalid_addresses_are_reported(address, message) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("zk", "--address", address, "ls")


def test_branch_that_is_not_open(zookeeper) -> None:
    with pytest.raises(CommandError, match=r"has no /nosuch\. Expected the chroot of an open branch"):
        call_command("zk", "--address", f"{zookeeper.address}/nosuch", "ls")


def test_address_is_read_from_the_running_lab(zookeeper, chroot, zk, tmp_path) -> None:
    def run(*arguments: str) -> str:
        printed = StringIO()
        call_command("zk", "--data", str(tmp_path), *arguments, "ls", stdout=printed)
        return printed.getvalue()

    with pytest.raises(CommandError, match="No lab is running with the data folder"):
        run()
    notes = tmp_path / "lab.json"
    notes.write_text(json.dumps({"zookeeper": zookeeper.address, "branches": {"7/main": chroot}}))
    assert run() == "[brokers]\n"
    notes.write_text(json.dumps({"zookeeper": zookeeper.address, "branches": {"7/main": chroot, "7/fork": "/other"}}))
    assert run("--run", "7", "--branch", "main") == "[brokers]\n"
    with pytest.raises(CommandError, match=r"Several branches are open\..* Open branches: 7/fork, 7/main"):
        run("--run", "7")
    with pytest.raises(CommandError, match="No open branch matches"):
        run("--run", "8")
    notes.write_text("{")
    with pytest.raises(CommandError, match="is not valid"):
        run()
