"""The vendored browser files: the lock matches them, and the check finds each kind of difference."""

import json
import re
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command
from django.template import Context

from lab.templatetags.highwater import importmap
from lab.web.assets import vendor


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of static/vendor without the big bundle, and with a lock of the rest."""
    folder = tmp_path / "vendor"
    shutil.copytree(vendor.folder(), folder, ignore=shutil.ignore_patterns("plotly*"))
    lock = json.loads((folder / vendor.LOCK_NAME).read_text())
    lock["packages"] = [package for package in lock["packages"] if not package["folder"].startswith("plotly")]
    (folder / vendor.LOCK_NAME).write_text(json.dumps(lock))
    assert vendor.problems(folder) == []
    return folder


def test_files_are_those_of_the_lock() -> None:
    call_command("check_vendor")


def test_changed_byte_is_found(copy: Path) -> None:
    path = next(copy.glob("lit@*/lit.js"))
    path.write_bytes(path.read_bytes().replace(b"render", b"rendre", 1))
    assert vendor.problems(copy) == [
        f"{path.relative_to(copy)} was changed: its digest is not the one in vendor.lock.json"
    ]


def test_missing_file_is_found(copy: Path) -> None:
    path = next(copy.glob("inter@*/LICENSE"))
    path.unlink()
    assert vendor.problems(copy) == [f"{path.relative_to(copy)} is missing"]


def test_unlisted_file_is_found(copy: Path) -> None:
    (copy / "lit@3.3.3" / "more.js").write_text("export {}")
    assert vendor.problems(copy) == ["lit@3.3.3/more.js is not in vendor.lock.json"]


def test_import_of_a_file_that_is_not_listed_is_found(copy: Path) -> None:
    lock = json.loads((copy / vendor.LOCK_NAME).read_text())
    lock["imports"]["other"] = "other@1/other.js"
    (copy / vendor.LOCK_NAME).write_text(json.dumps(lock))
    assert vendor.problems(copy) == ["other@1/other.js is imported but not in vendor.lock.json"]


@pytest.mark.parametrize("content", ["", "[]", '{"imports": {}, "packages": [{}]}'])
def test_malformed_lock_is_one_clear_message(copy: Path, content: str) -> None:
    (copy / vendor.LOCK_NAME).write_text(content)
    (problem,) = vendor.problems(copy)
    assert "\n" not in problem


def test_missing_lock_is_reported_with_a_remedy(copy: Path) -> None:
    (copy / vendor.LOCK_NAME).unlink()
    (problem,) = vendor.problems(copy)
    assert "vendor.mjs" in problem


def test_every_licence_is_there() -> None:
    for package in json.loads((vendor.folder() / vendor.LOCK_NAME).read_text())["packages"]:
        assert "LICENSE" in package["files"], package["name"]
        assert package["licence"] in ("BSD-3-Clause", "MIT", "OFL-1.1"), package["name"]


def test_import_map_carries_digests_and_the_nonce(rf) -> None:
    request = rf.get("/")
    request.csp_nonce = "n0nce"
    printed = importmap(Context({"request": request}))
    found = re.fullmatch(r'<script type="importmap" nonce="n0nce">(.*)</script>', printed, re.DOTALL)
    assert found, printed
    content = json.loads(found[1])
    assert set(content["imports"]) == {"lit", "@preact/signals-core"}
    for name, address in content["imports"].items():
        path = vendor.lock().imports[name]
        assert address.endswith(path)
        assert content["integrity"][address] == vendor.digest((vendor.folder() / path).read_bytes())
