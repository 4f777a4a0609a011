"""`manage.py lab` as a separate process: it starts, prints its address, ends, and resumes after a kill."""

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from lab.management.commands.lab import HOST
from tests.support.lab_server import PATIENCE_S
from tests.support.paths import DATA, ROOT
from tests.support.processes.lab_process import LabProcess, lab

BROKEN_JAVA = """#!/bin/sh
case "$*" in *-version*) echo 'openjdk version "21"' >&2; exit 0;; esac
echo broken >&2
exit 3
"""


def lab_file(data: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((data / "lab.json").read_text())
    return content


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_lab_prints_one_address_refuses_a_second_one_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    with lab(tmp_path) as running:
        printed = running.wait_until_ready()
        noted = lab_file(tmp_path)
        assert noted["address"] == printed and noted["port"] == running.port and noted["pid"] == running.process.pid
        assert (tmp_path / "lab.json").stat().st_mode & 0o077 == 0
        assert (tmp_path / "secret-key").stat().st_mode & 0o077 == 0
        visitor = running.visitor(printed)
        run = visitor.new_run(name="Kept")
        zookeeper = int((tmp_path / "zookeeper/zookeeper.pid").read_text())
        assert is_running(zookeeper)
        assert lab_file(tmp_path)["branches"] == {f"{run}/main": f"/highwater/{run}/main"}
        second = LabProcess(tmp_path)
        try:
            said = second.output()
        finally:
            second.process.kill()
        assert second.process.returncode == 1
        assert "Another lab is running" in said and "DATA=" in said and "Traceback" not in said
        assert lab_file(tmp_path)["pid"] == running.process.pid
        assert running.end() == 0
        assert not is_running(zookeeper)
        assert not (tmp_path / "lab.json").exists()


def test_runs_and_two_tabs_of_a_lesson_survive_a_kill_and_wake_on_the_next_action(tmp_path: Path) -> None:
    slug = "001-high-watermark-two-fetches"
    with lab(tmp_path) as running:
        visitor = running.visitor(running.wait_until_ready())
        run = visitor.new_run(name="Survivor")
        with visitor.socket(run) as client:
            client.of_kind("snap")
            client.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
            client.run("producer open p1 --acks all")
            client.run("producer send p1 orders-0 k:before")
            seen = client.frames[-1]["ev"][-1][0] if client.frames[-1]["k"] == "d" else client.events()[-1][0]
            # while paused, events are written at once
            client.ask({"k": "time", "op": "pause"})
        zookeeper = int((tmp_path / "zookeeper/zookeeper.pid").read_text())
        taught = visitor.new_run()
        # The first tab has said hello, and reads nothing from then on.
        with visitor.socket(taught), visitor.socket(taught) as tab:
            for op in ({"op": "start"}, {"op": "skip", "step": "produce"}, {"op": "hint"}):
                assert tab.ask({"k": "exercise", "exercise": slug, **op})["k"] == "done"
            running.end(signal.SIGKILL)
        assert is_running(zookeeper)
    with lab(tmp_path) as running:
        address = running.wait_until_ready()
        assert not is_running(zookeeper)
        # The browser that was signed in still is; the old address is not valid any more.
        visitor.server = running  # type: ignore[assignment]
        assert "Survivor" in visitor.get("/runs/").text
        with visitor.socket(run) as client:
            assert client.of_kind("welcome")["core"] == "recorded"
            snap = client.of_kind("snap")
            clock = client.of_kind("clock")
            assert (clock["mode"], clock["core"]) == ("pause", "recorded")
            assert "orders" in snap["state"]["topics"]
            client.ask({"k": "time", "op": "play"})
            woken = [frame for frame in client.frames if frame["k"] == "welcome"][-1]
            assert woken["core"] == "live" and woken["zookeeper"].endswith(f"/{run}/main")
            read = client.run(
                "kafka-console-consumer.sh --topic orders --partition 0 --from-beginning --max-messages 1"
            )
            assert read[0] == "before"
            assert client.events()[-1][0] > seen
        with visitor.socket(taught) as first, visitor.socket(taught) as second:
            for client in (first, second):
                frame = client.of_kind("exercise")
                assert (frame["slug"], len(frame["hints"])) == (slug, 1)
                assert [step["state"] for step in frame["steps"]][:2] == ["done", "active"]
                assert frame["steps"][0]["skipped"]
        assert running.visitor(address).get("/runs/").status == 200
        assert running.end(signal.SIGTERM) == 0


def test_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with lab(tmp_path, "--port", port) as refused:
            said = refused.output()
            assert refused.process.returncode == 1
    assert f"Port {port}" in said and "in use" in said and "PORT=" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("port", ["80000", "-1", "http"])
def test_invalid_port_is_reported(port: str) -> None:
    # The command sets some, for a process of its own.
    with override_settings(), pytest.raises(CommandError, match=port):
        call_command("lab", f"--port={port}")


def test_unwritable_data_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with override_settings(DATA=tmp_path / "file" / "data"), pytest.raises(CommandError) as refused:
        call_command("lab", "--port=0")
    assert "cannot be written to" in str(refused.value) and "DATA=" in str(refused.value)


def test_unreadable_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "lab.sqlite3").write_bytes(b"this is no database" * 100)
    with lab(tmp_path) as refused:
        said = refused.output()
    assert "lab.sqlite3 cannot be used" in said and "Traceback" not in said


def test_jvm_that_does_not_start_is_reported(tmp_path: Path) -> None:
    java = tmp_path / "jdk/bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(BROKEN_JAVA)
    java.chmod(0o755)
    with lab(tmp_path / "data", JAVA_HOME=str(java.parent.parent)) as refused:
        said = refused.output()
    assert refused.process.returncode == 1
    assert "JVM" in said and "Java" in said and "Traceback" not in said


def test_changed_vendored_files_are_reported(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    # Files that other processes write meanwhile, such as compiled modules, may be deleted before they are copied.
    for folder in ("broker_core", "devtools", "lab", "static", "templates"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "manage.py", copy)
    changed = next((copy / "static/vendor").rglob("*.js"))
    changed.write_text(changed.read_text() + "//")
    started = subprocess.run(
        [sys.executable, "manage.py", "lab", "--port", "0"],
        cwd=copy,
        env={**os.environ, "HIGHWATER_DATA": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )
    assert started.returncode == 1
    assert changed.name in started.stderr and "Traceback" not in started.stderr


# A room, over the network

CERTIFICATE = ("--tls-cert", str(DATA / "tls" / "cert.pem"), "--tls-key", str(DATA / "tls" / "key.pem"))


def printed(process: LabProcess) -> str:
    """Its output until it serves."""
    assert process.process.stdout is not None
    lines = []
    for line in process.process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            return "".join(lines)
    raise AssertionError("the lab ended: " + "".join(lines))


def answer(address: str, host: str = "") -> tuple[int, list[str]]:
    """(status, Set-Cookie headers). The certificate of the tests is not signed by an authority."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, context=context if address.startswith("https") else None) as response:
            return response.status, response.headers.get_all("Set-Cookie") or []
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_all("Set-Cookie") or []


def test_class_over_plain_http_prints_address_and_qr_code_and_warns_about_the_microphone(tmp_path: Path) -> None:
    with lab(tmp_path, "--port", "0", "--host", "0.0.0.0", "--name", "lab.example") as process:
        said = printed(process)
        assert re.search(r"Classes are joined at  http://lab\.example:\d+/join/", said)
        assert "█" in said and "microphone" in said and "createinstructor" in said
        local = re.search(r"(http://127\.0\.0\.1:\d+)/sign-in/\?token=", said)
        assert local
        status, cookies = answer(f"{local[1]}/join/")
        assert status == 200 and cookies and not any("Secure" in cookie for cookie in cookies)
        assert answer(f"{local[1]}/join/", "lab.example")[0] == 200
        assert answer(f"{local[1]}/join/", "evil.example")[0] == 400


def test_class_over_tls_marks_its_cookies_as_secure(tmp_path: Path) -> None:
    with lab(tmp_path, "--port", "0", "--host", "0.0.0.0", *CERTIFICATE) as process:
        said = printed(process)
        assert "microphone" not in said
        local = re.search(r"(https://127\.0\.0\.1:\d+)/sign-in/\?token=", said)
        assert local
        status, cookies = answer(f"{local[1]}/join/")
        assert status == 200 and cookies and all("Secure" in cookie for cookie in cookies)


def test_half_a_certificate_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with lab(tmp_path, "--port", "0", "--host", "0.0.0.0", *CERTIFICATE[:2]) as process:
        said = process.output()
        assert "--tls-cert FILE --tls-key FILE" in said and "Traceback" not in said
        assert not (tmp_path / "zookeeper").exists()
