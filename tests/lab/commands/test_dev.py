"""`manage.py dev`: which files restart the server. `tests/browser/test_dev_loop.py` runs it."""

from pathlib import Path

from devtools.management.commands.dev import snapshot


def test_compiled_files_do_not_restart_the_server(tmp_path: Path) -> None:
    package = tmp_path / "lab"
    compiled = package / "__pycache__"
    compiled.mkdir(parents=True)
    (package / "urls.py").touch()
    before = snapshot(tmp_path)
    assert list(before) == [package / "urls.py"]
    for name in ("urls.cpython-311.pyc", "urls.cpython-311.pyc.140312708457712"):
        (compiled / name).touch()
    assert snapshot(tmp_path) == before
