"""The check of the page's modules, with and without Node."""

from pathlib import Path

import pytest

from tools import check_page

#: An npm that notes its calls and installs a tsc and an eslint, which end with `results`.
NPM = """#!/bin/sh
echo "npm $*" >> {calls}
mkdir -p node_modules/.bin
for name in tsc eslint; do
  printf '#!/bin/sh\\necho "'$name' $*" >> {calls}\\nexit $(grep -c '$name' {failing})\\n' > node_modules/.bin/$name
  chmod +x node_modules/.bin/$name
done
exit $(grep -c npm {failing})
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Node 20.19 and an npm, for a project whose packages were never fetched."""
    packages = tmp_path / "vendor"
    packages.mkdir()
    (tmp_path / "failing").touch()
    (tmp_path / "calls").touch()
    monkeypatch.setattr(check_page, "PACKAGES", packages)
    monkeypatch.setattr(check_page, "LOCK", packages / "package-lock.json")
    monkeypatch.setattr(check_page, "MODULES", packages / "node_modules")
    monkeypatch.setattr(check_page, "FETCHED", packages / "node_modules" / ".fetched-by")
    check_page.LOCK.write_text("{}")
    programs = tmp_path / "bin"
    programs.mkdir()
    install(programs / "node", "#!/bin/sh\necho v20.19.0\n")
    install(programs / "npm", NPM.format(calls=tmp_path / "calls", failing=tmp_path / "failing"))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path


def install(program: Path, script: str) -> None:
    program.write_text(script)
    program.chmod(0o755)


def calls(machine: Path) -> list[str]:
    """The first words of what was run, in order."""
    return [line.split()[0] for line in (machine / "calls").read_text().splitlines()]


def test_fetches_again_only_when_the_lock_changes(machine: Path) -> None:
    assert check_page.main() == 0
    assert calls(machine) == ["npm", "tsc", "eslint"]
    assert check_page.main() == 0
    assert calls(machine) == ["npm", "tsc", "eslint", "tsc", "eslint"]
    check_page.LOCK.write_text('{"lockfileVersion": 3}')
    assert check_page.main() == 0
    assert calls(machine).count("npm") == 2


@pytest.mark.parametrize("tool", ["tsc", "eslint"])
def test_fails_on_what_a_tool_finds(machine: Path, capsys: pytest.CaptureFixture[str], tool: str) -> None:
    (machine / "failing").write_text(tool)
    assert check_page.main() == 1
    assert f"page: {tool} found the above in static/lab" in capsys.readouterr().out


def test_failed_npm_is_retried_next_time(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (machine / "failing").write_text("npm")
    assert check_page.main() == 1
    assert "npm could not fetch tsc and eslint" in capsys.readouterr().out
    (machine / "failing").write_text("")
    assert check_page.main() == 0


def test_unchecked_page_is_reported_without_node(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(machine / "nowhere"))
    assert check_page.main() == 0
    assert "page: NOT CHECKED by tsc and eslint: there is no Node with npm on this machine" in capsys.readouterr().out
    assert calls(machine) == []


@pytest.mark.parametrize("version", ["v18.20.4", "v20.9.0", ""])
def test_reports_an_unsupported_node(machine: Path, capsys: pytest.CaptureFixture[str], version: str) -> None:
    install(machine / "bin" / "node", f"#!/bin/sh\necho {version}\n")
    assert check_page.main() == 0
    assert "NOT CHECKED" in capsys.readouterr().out
    assert calls(machine) == []
