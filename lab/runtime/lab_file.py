"""DATA/lab.json: the address of the running lab, for commands in a terminal."""

import msgspec
from django.conf import settings

LAB_FILE = "lab.json"


class LabFile(msgspec.Struct):
    """`address` signs in, so only its owner may read it. `branches`: run/branch to chroot, of engines that run."""

    address: str
    port: int
    pid: int
    zookeeper: str
    branches: dict[str, str] = {}


def write_lab_file(content: LabFile) -> None:
    """Puts it there, for the owner's eyes."""
    path = settings.DATA / LAB_FILE
    temporary = path.with_suffix(".tmp")
    temporary.touch(0o600)
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2))
    temporary.replace(path)


def read_lab_file() -> LabFile | None:
    """The contents; None if there is no file of this version."""
    try:
        return msgspec.json.decode((settings.DATA / LAB_FILE).read_bytes(), type=LabFile)
    except (OSError, msgspec.MsgspecError):
        return None


def note_branches(branches: dict[str, str]) -> None:
    """Updates the list of branches, if the file exists."""
    content = read_lab_file()
    if content is not None and content.branches != branches:
        content.branches = branches
        write_lab_file(content)


def remove_lab_file() -> None:
    (settings.DATA / LAB_FILE).unlink(missing_ok=True)
