"""What git tracks."""

import subprocess

from tests.support.paths import ROOT

SYMBOLIC_LINK = "120000"


def test_no_tracked_file_is_a_symbolic_link() -> None:
    """A link to a place outside of the project is broken in every other clone, one in it on Windows."""
    listed = subprocess.run(
        ["git", "ls-files", "-s", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    modes = {path: about.split()[0] for about, _, path in (one.partition("\t") for one in listed.split("\0") if one)}
    assert modes["README.md"] == "100644"
    assert [path for path, mode in modes.items() if mode == SYMBOLIC_LINK] == []
