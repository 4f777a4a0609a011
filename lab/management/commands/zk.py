"""`manage.py zk`: looks into a branch's ZooKeeper from a terminal, and changes it, as zkCli does."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from broker_core.zk.store import ZkError
from lab.runtime.zookeeper.client import ZookeeperClient
from lab.runtime.zookeeper.server import ZookeeperError

VERBS = {
    "ls": "names of the children",
    "tree": "the znode and all below it, with their data",
    "get": "the data",
    "stat": "zxids, versions, owner and number of children",
    "set": "replace the data",
    "create": "create a persistent znode",
    "delete": "delete a znode that has no children",
}
STAT = {
    "cZxid": "czxid",
    "mZxid": "mzxid",
    "dataVersion": "version",
    "cversion": "cversion",
    "ephemeralOwner": "ephemeralOwner",
    "dataLength": "dataLength",
    "numChildren": "numChildren",
}


class Command(BaseCommand):
    """Changes made here are external to the lab, which records them as inputs."""

    help = "Read and change a branch's ZooKeeper. A running lab applies and records a change at once."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--address", help="HOST:PORT or HOST:PORT/CHROOT; default: that of the running lab")
        parser.add_argument("--data", help="data folder of the running lab", default=str(settings.DATA))
        parser.add_argument("--run", help="run, when several are open")
        parser.add_argument("--branch", help="branch, when several are open")
        parser.add_argument("verb", choices=VERBS, help="; ".join(f"{verb}: {what}" for verb, what in VERBS.items()))
        parser.add_argument("path", nargs="?", default="/")
        parser.add_argument("znode_data", nargs="?", metavar="data", help="for set and create")

    def handle(self, *args: Any, **options: Any) -> None:
        verb, path, data = options["verb"], options["path"], options["znode_data"]
        if verb == "set" and data is None:
            raise CommandError(f"The data for {path} is missing. Expected: manage.py zk set PATH DATA")
        if verb not in ("set", "create") and data is not None:
            raise CommandError(f"{verb} does not take data. Expected: manage.py zk {verb} PATH")
        try:
            address = options["address"] or address_of_lab(Path(options["data"]), options["run"], options["branch"])
            with ZookeeperClient(address) as client:
                for line in answer(client, verb, path, (data or "").encode()):
                    self.stdout.write(line)
        except (ZkError, ZookeeperError) as error:
            raise CommandError(str(error)) from error


def answer(client: ZookeeperClient, verb: str, path: str, data: bytes) -> list[str]:
    """Executes the operation; returns what to print."""
    match verb:
        case "ls":
            return [f"[{', '.join(client.children(path))}]"]
        case "tree":
            return [
                f"{below}{' (ephemeral)' if stat.ephemeralOwner else ''} = {shown(data)}"
                for below, data, stat in client.tree(path)
            ]
        case "get":
            return [shown(client.get(path)[0])]
        case "stat":
            stat = client.get(path)[1]
            return [f"{name} = {getattr(stat, attribute)}" for name, attribute in STAT.items()]
        case "set":
            return [f"dataVersion = {client.set(path, data).version}"]
        case "create":
            return [f"Created {client.create(path, data)}"]
        case _:
            client.delete(path)
            return [f"Deleted {path}"]


def shown(data: bytes) -> str:
    return data.decode("utf-8", "replace") if data else "null"


def address_of_lab(data_dir: Path, run: str | None, branch: str | None) -> str:
    """HOST:PORT/CHROOT of an open branch, from what the running lab has written down.

    Raises:
        CommandError: no lab runs with this data folder, or the choice of the branch is not clear.
    """
    notes = data_dir / "lab.json"
    try:
        said = json.loads(notes.read_text())
        server, chroots = str(said["zookeeper"]), dict(said["branches"])
    except FileNotFoundError as error:
        raise CommandError(
            f"No lab is running with the data folder {data_dir}. Start one with `make lab`, or name another folder "
            "with --data, or an address with --address HOST:PORT/CHROOT."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(f"{notes} is not valid ({error}). Restart the lab.") from error
    wanted = {
        name: chroot
        for name, chroot in chroots.items()
        if run in (None, name.partition("/")[0]) and branch in (None, name.partition("/")[2])
    }
    if len(wanted) == 1:
        return f"{server}{next(iter(wanted.values()))}"
    open_branches = (
        f"Open branches: {', '.join(sorted(chroots))}." if chroots else "No branch is open: open one in the browser."
    )
    if not wanted:
        raise CommandError(f"No open branch matches --run and --branch. {open_branches}")
    raise CommandError(f"Several branches are open. Choose one with --run and --branch. {open_branches}")
