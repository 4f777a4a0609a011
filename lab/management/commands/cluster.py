"""`manage.py cluster`: a cluster in real time that any Kafka client can join, without a page."""

import argparse
import asyncio
import logging
import re
import secrets
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from broker_core.eras import DEFAULT_ERA, ERAS
from broker_core.refusals import ClusterError, ConfigException
from lab.recordings.clusters import ClusterNote, noted
from lab.recordings.folder import branch_folder, remove_run_folder
from lab.run_limits import MAX_BROKERS
from lab.runtime import engine
from lab.runtime.headless.standalone import standalone
from lab.runtime.lab import Lab
from lab.runtime.lab_thread import wait_for
from lab.runtime.machine.descriptors import use_all_descriptors
from lab.runtime.machine.memory import freeze_survivors, tune_process_memory
from lab.runtime.pacer import wall_ms
from lab.runtime.tcp.bound_ports import HOST
from lab.selectors import MAIN
from lab.texts.refusal import Refusal

LOOK_S = 0.5
"""Between two looks at whether the engine of a cluster that is not recorded still runs."""


class Command(BaseCommand):
    """Runs a cluster until Ctrl-C; what happens in it is recorded."""

    help = "Run a cluster that Kafka clients can join, in real time and without a page. Ctrl-C stops it."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--brokers", type=int, default=3, help="number of brokers (default 3)")
        parser.add_argument("--first-id", type=int, default=1, help="id of the first broker (default 1)")
        parser.add_argument(
            "--port", type=int, default=29092, help="port of the first broker; the others use the ports after it"
        )
        parser.add_argument(
            "--advertise",
            metavar="HOST:PORT",
            help="the first broker's address in responses to clients that reach it through a proxy or by another name; "
            "the others have the ports after it (default: the address that it listens on)",
        )
        parser.add_argument(
            "--record",
            choices=("all", "none"),
            default="all",
            help="what to record; with none, the files of the brokers are all that is written, and they are deleted at "
            "the end (default all)",
        )
        parser.add_argument(
            "--keep",
            metavar="TIME",
            help="how much of its past to keep, such as 30m, 1h or 2d; older events and checkpoints are deleted, "
            "and what happened then can no longer be watched (default: all)",
        )
        parser.add_argument(
            "--config",
            action="append",
            default=[],
            metavar="[ID:]KEY=VALUE",
            help="for every broker, or for broker ID, such as 1:broker.rack=a",
        )
        parser.add_argument("--era", choices=list(ERAS), default=DEFAULT_ERA, help=f"default {DEFAULT_ERA}")

    def handle(self, *args: Any, **options: Any) -> None:
        count, first = options["brokers"], options["first_id"]
        if not 1 <= count <= MAX_BROKERS or first < 0:
            raise CommandError(
                f"Invalid brokers: {count}, the first id {first}. Expected 1 to {MAX_BROKERS} brokers and an id of at "
                "least 0. Correct --brokers or --first-id."
            )
        keep_s = 0.0 if options["record"] == "none" else _keep_s(options["keep"])
        advertised = _advertised(options["advertise"], first, count)
        brokers = tuple(range(first, first + count))
        settings = _settings(options["config"], brokers)
        config = engine.RunConfig(
            name="cluster",
            seed=secrets.randbelow(2**32),
            brokers=brokers,
            era=options["era"],
            start_wall_ms=wall_ms(),
            broker_config=settings.pop(None),
            config_of_broker={broker_id: of_one for broker_id, of_one in settings.items() if broker_id is not None},
            latency_us=0,
            jitter_us=0,
        )
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
        tune_process_memory()
        freeze_survivors()
        use_all_descriptors()
        try:
            asyncio.run(self._run(config, options["port"], advertised, keep_s))
        except (Refusal, ClusterError, ConfigException) as error:
            raise CommandError(str(error)) from error

    async def _run(
        self, config: engine.RunConfig, port: int, advertised: dict[int, tuple[str, int]], keep_s: float | None
    ) -> None:
        is_recorded = keep_s != 0
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        run = f"cluster-{secrets.token_hex(4)}"
        folder = branch_folder(run, MAIN)
        note = ClusterNote(config.seed, len(config.brokers), config.era, config.start_wall_ms)
        stays = False
        ports = {broker_id: port + at if port else 0 for at, broker_id in enumerate(config.brokers)}
        with noted(run, note) if is_recorded else nullcontext():
            try:
                async with standalone(folder, config, ports, advertised, keep_s=keep_s) as (lab, gateway):
                    stays = is_recorded
                    self.stdout.write(f"{HOST}:{gateway.ports[config.brokers[0]]}")
                    self.stdout.write(f"All brokers: {', '.join(f'{HOST}:{each}' for each in gateway.ports.values())}")
                    self.stdout.write(
                        f"Recording to {folder.path}. Ctrl-C stops it; the lab of this data folder then lists it."
                        if is_recorded
                        else f"Nothing is recorded. The files of the brokers are in {folder.cluster} until Ctrl-C."
                    )
                    self.stdout.flush()
                    await _serve(lab, ended)
            finally:
                if not stays:
                    remove_run_folder(run)


async def _serve(lab: Lab, ended: asyncio.Event) -> None:
    """Returns when `ended` is set. Raises Refusal when the engine has failed and nothing is recorded from which it
    could be built again.
    """
    while not ended.is_set():
        await wait_for(ended, LOOK_S)
        if not lab.recording.is_kept and lab.core != "live":
            raise Refusal("refusal.not_recorded", 409)


def _keep_s(text: str | None) -> float | None:
    """Seconds. Raises CommandError."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,6})([smhd])", text)
    if not found:
        raise CommandError(f"Invalid --keep {text!r}. Expected a number and one of s, m, h and d, such as 1h.")
    return float(int(found[1]) * {"s": 1, "m": 60, "h": 3_600, "d": 86_400}[found[2]])


def _advertised(text: str | None, first: int, count: int) -> dict[int, tuple[str, int]]:
    """The advertised address of each broker, empty where none is set. Raises CommandError."""
    if text is None:
        return {}
    host, _, digits = text.rpartition(":")
    port = int(digits) if digits.isascii() and digits.isdigit() else 0
    if not host or not 1 <= port <= 65_536 - count:
        raise CommandError(
            f"Invalid --advertise {text!r}. Expected HOST:PORT with a port of at most {65_536 - count}, such as "
            "localhost:9092."
        )
    return {first + number: (host, port + number) for number in range(count)}


def _settings(texts: Sequence[str], brokers: Sequence[int]) -> dict[int | None, dict[str, str]]:
    """The settings of each broker that has its own, and under None those of all. Raises CommandError."""
    settings: dict[int | None, dict[str, str]] = {None: {}}
    for text in texts:
        key, sign, value = text.partition("=")
        owner, colon, name = key.rpartition(":")
        if not name or not sign or (colon and owner not in map(str, brokers)):
            ids = ", ".join(map(str, brokers))
            raise CommandError(
                f"Invalid --config {text!r}. Expected KEY=VALUE, such as num.partitions=3, or ID:KEY=VALUE for one of "
                f"the brokers {ids}, such as {brokers[0]}:broker.rack=a."
            )
        settings.setdefault(int(owner) if colon else None, {})[name] = value
    return settings
