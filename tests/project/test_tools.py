"""The scripts that set a machine up, and their messages when they cannot."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.paths import ROOT
from tools import ensure_chromium, setup_env


def locked() -> dict[str, list[str]]:
    """Name -> versions of the lock; more than one where they depend on the Python."""
    versions: dict[str, list[str]] = {}
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        if line and not line.startswith(" "):
            name, _, rest = line.partition("==")
            versions.setdefault(name, []).append(rest.split()[0])
    return versions


def test_lock_satisfies_the_projects_requirements() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    versions = locked()
    for requested in project["project"]["dependencies"] + project["dependency-groups"]["dev"]:
        requirement = Requirement(requested)
        assert all(requirement.specifier.contains(version) for version in versions[requirement.name]), requested


def test_lock_has_a_hash_for_each_package_and_names_no_index() -> None:
    text = (ROOT / "requirements.lock").read_text()
    packages = [part for part in text.replace("\\\n", " ").splitlines() if part]
    assert packages
    assert all("--hash=sha256:" in package for package in packages)
    assert "://" not in text


def test_environment_matches_the_lock() -> None:
    assert setup_env.is_up_to_date(), "the tests run in .venv, which make sets up first"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A project whose set-up never ran, on a machine with a uv that is controlled by the test."""
    monkeypatch.setattr(setup_env, "ROOT", tmp_path)
    monkeypatch.setattr(setup_env, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.setattr(setup_env, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(setup_env, "VENV_PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(setup_env, "STAMP", tmp_path / ".venv" / ".requirements-digest")
    monkeypatch.setattr(sys, "argv", ["setup_env.py"])
    (tmp_path / "requirements.lock").write_text("nothing==1\n")
    return tmp_path


def fake_uv(project: Path, monkeypatch, script: str) -> Path:
    uv = project / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f"#!/bin/sh\necho uv $* >> {project}/calls\n{script}\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:/usr/bin:/bin")
    return project / "calls"


MAKES_A_VENV = 'if [ "$1" = venv ]; then mkdir -p .venv/bin; ln -s "$(readlink -f "$4")" .venv/bin/python; fi'


def test_sets_up_again_only_when_the_lock_changes(project, monkeypatch, capsys) -> None:
    calls = fake_uv(project, monkeypatch, MAKES_A_VENV)
    assert setup_env.main() == 0
    assert [line.split()[1] for line in calls.read_text().splitlines()] == ["venv", "pip"]
    assert "--require-hashes" in calls.read_text()
    assert setup_env.main() == 0
    assert len(calls.read_text().splitlines()) == 2
    (project / "requirements.lock").write_text("nothing==2\n")
    assert setup_env.main() == 0
    assert [line.split()[1] for line in calls.read_text().splitlines()] == ["venv", "pip", "pip"]
    assert "setup: done" in capsys.readouterr().out


def test_failed_install_is_retried_next_time(project, monkeypatch, capsys) -> None:
    fake_uv(project, monkeypatch, f"{MAKES_A_VENV}\n[ $1 = venv ]")
    assert setup_env.main() == 1
    said = capsys.readouterr().err
    assert "The packages of requirements.lock could not be installed" in said
    assert "Run make again" in said
    assert not setup_env.is_up_to_date()


def test_venv_that_cannot_be_made(project, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(subprocess, "call", lambda *_, **__: 1)
    assert setup_env.main() == 1
    assert "install the package python3-venv, or install uv" in capsys.readouterr().err


def test_old_python_is_reported(project, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert setup_env.main() == 1
    assert "Unsupported Python 3.9.2. Expected Python 3.11 or newer." in capsys.readouterr().err


def test_named_chromium_must_exist(monkeypatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(ensure_chromium.NoChromium, match="/nowhere/chromium is not an executable file"):
        ensure_chromium.ensure_chromium()


def test_systems_chromium_comes_first(tmp_path, monkeypatch) -> None:
    chrome = tmp_path / "google-chrome"
    chrome.write_text("")
    chrome.chmod(0o755)
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ensure_chromium.ensure_chromium() == (str(chrome), "the system's")


@pytest.fixture
def without_chromium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that has none, and the folder that its programs come from."""
    monkeypatch.delenv("CHROMIUM", raising=False)
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ensure_chromium, "playwright_executable", lambda: None)
    noisy = "Error: getaddrinfo ENOTFOUND\n    at GetAddrInfoReqWrap.onlookupall\nFailed to install browsers"
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "python", noisy, 1)))
    monkeypatch.setattr(ensure_chromium, "can_use_apt", lambda: (tmp_path / "apt-get").exists())
    return tmp_path


def program(path: Path, prints: str, code: int, then: str = "") -> Path:
    path.write_text(
        f"#!/bin/sh\nwhile read -r line; do echo \"$line\"; done <<'END'\n{prints}\nEND\n{then}\nexit {code}\n"
    )
    path.chmod(0o755)
    return path


def test_failed_attempt_to_find_chromium_is_not_shown(
    without_chromium: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chromium = without_chromium / "chromium"
    program(without_chromium / "apt-get", "Unpacking chromium", 0, f": > {chromium}; /bin/chmod 755 {chromium}")
    assert ensure_chromium.ensure_chromium() == (str(chromium), "installed by apt just now")
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == ["chromium: no Chromium on this machine; fetching one, which takes a minute or so"]


def test_no_chromium_anywhere(without_chromium: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Only now is the output of the attempts shown, without stack traces."""
    with pytest.raises(ensure_chromium.NoChromium) as refused:
        ensure_chromium.ensure_chromium()
    assert "Error: getaddrinfo ENOTFOUND / Failed to install browsers" in str(refused.value)
    assert "apt was not tried" in str(refused.value)
    program(without_chromium / "apt-get", "E: Unable to locate package chromium", 100)
    with pytest.raises(ensure_chromium.NoChromium, match="Not installed by apt: E: Unable to locate package"):
        ensure_chromium.ensure_chromium()
    assert "getaddrinfo" not in capfd.readouterr().err


def test_chromium_of_this_machine_is_named() -> None:
    """What `make test` does first. The last line is the path, alone."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "ensure_chromium.py")], capture_output=True, text=True, check=True
    )
    path = Path(done.stdout.strip())
    assert path.exists()
    assert f"chromium: using {path} (" in done.stderr


def test_skipped_test_counts_as_failed(tmp_path) -> None:
    (tmp_path / "test_skipping_test_fails.py").write_text(
        "import pytest\ndef test_skipping_test_fails(): pytest.skip('no such tool')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.no_skips", "-c", "/dev/null", "--rootdir", tmp_path, tmp_path],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "was skipped (Skipped: no such tool)" in done.stdout
