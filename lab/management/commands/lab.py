"""`manage.py lab`: runs everything, prints its addresses, and ends everything with Ctrl-C.

By default one user on this machine. `--host` serves a room: people join classes over the network.
"""

import argparse
import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from lab.actions.classes.keep_recordings import keep_time_limits
from lab.actions.classes.live_class import close_classes
from lab.actions.execution import finish_imports
from lab.analytics.background import class_archive_in_background
from lab.analytics.jobs import analyst
from lab.learning.log import close_all
from lab.recordings.folder import finish_removals
from lab.runtime.host import close_host
from lab.runtime.lab_file import LabFile, remove_lab_file, write_lab_file
from lab.runtime.machine.memory import freeze_old_survivors
from lab.runtime.machine.space import ensure_space
from lab.runtime.zookeeper.server import EmbeddedZookeeper, ZookeeperError
from lab.texts.refusal import Refusal
from lab.web.assets import vendor
from lab.web.classes.qr import qr_text
from lab.web.network import LOOPBACK, Room, TlsError, apply_room, room_of

HOST = LOOPBACK
WITHOUT_TLS = (
    "Without TLS, browsers refuse the microphone to every page that is not on this machine, and passwords, cookies and "
    "labs cross the network readable. For audio and accounts give a certificate: --tls-cert FILE --tls-key FILE\n"
)
SWITCH_S = 0.001
GRACE_S = 2
"""How long sockets and requests may take after Ctrl-C."""
MAX_SOCKET_FRAME_BYTES = 1024 * 1024
"""Larger frames end a socket unread; smaller ones that are too large still get an answer."""


class Command(BaseCommand):
    """Starts ZooKeeper and the server."""

    help = "Run the lab: ZooKeeper, the server, the page. Ctrl-C stops it."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the page (default 8000; 0: any free port)")
        parser.add_argument(
            "--host", default=HOST, help="address to serve at: 0.0.0.0 serves a room (default: loopback)"
        )
        parser.add_argument(
            "--name",
            action="append",
            default=[],
            metavar="HOST",
            help="another host name of the lab, such as a proxy's",
        )
        parser.add_argument("--tls-cert", default="", metavar="FILE", help="certificate chain (PEM); needs --tls-key")
        parser.add_argument("--tls-key", default="", metavar="FILE", help="key of the certificate (PEM)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            room = room_of(options["host"], options["name"], options["tls_cert"], options["tls_key"])
            apply_room(room)
            with listen(options["port"], room.host) as listener:
                prepare_data_folder(settings.DATA)
                check_vendored_files()
                with starting_zookeeper(settings.DATA / "zookeeper") as starting:
                    prepare_database()
                    finish_removals()
                    finish_imports()
                    import_module("lab.asgi")
                    self._serve(listener, starting.result(), room)
        except TlsError as error:
            raise CommandError(
                f"{error} Expected a certificate and its key as PEM files, the key without a password. "
                "Give both: --tls-cert FILE --tls-key FILE"
            ) from error
        except (Refusal, ZookeeperError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.stderr.write("Stopped before startup was complete.")

    def _serve(self, listener: socket.socket, zookeeper: EmbeddedZookeeper, room: Room) -> None:
        settings.ZOOKEEPER = zookeeper.address
        port = listener.getsockname()[1]
        settings.ROOM_ADDRESS = "" if room.is_loopback else room.address(port)
        address = f"{room.own_address(port)}/sign-in/?token={settings.SIGN_IN_TOKEN}"
        write_lab_file(LabFile(address, port, os.getpid(), zookeeper.address))
        try:
            loop_factory = server_config(room).get_loop_factory()
            with class_archive_in_background(), asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.run(serve(listener, lambda: self._say(address, room, port), room))
        finally:
            analyst().stop()
            close_all()
            remove_lab_file()

    def _say(self, address: str, room: Room, port: int) -> None:
        self.stdout.write(f"\nHighwater is at  {address}\n")
        if not room.is_loopback:
            joining = f"{room.address(port)}/join/"
            self.stdout.write(f"Classes are joined at  {joining}\n\n{qr_text(joining)}")
            if not room.tls_cert:
                self.stdout.write(WITHOUT_TLS)
            self.stdout.write("Instructors on other machines need an account: manage.py createinstructor NAME\n")
        self.stdout.write("Ctrl-C stops it.")
        self.stdout.flush()


@contextlib.contextmanager
def starting_zookeeper(folder: Path) -> "Iterator[Future[EmbeddedZookeeper]]":
    """Starts ZooKeeper beside everything else, and ends it. The result raises ZookeeperError when it does not start."""
    zookeeper = EmbeddedZookeeper(folder)

    def start() -> EmbeddedZookeeper:
        zookeeper.start()
        return zookeeper

    with ThreadPoolExecutor(1) as beside:
        starting = beside.submit(start)
        try:
            yield starting
        finally:
            wait([starting])
            zookeeper.stop()


def listen(port: int, host: str = HOST) -> socket.socket:
    """The socket of the page, bound before anything else starts. Raises CommandError when it cannot be."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        why = "is in use" if getattr(error, "errno", 0) == errno.EADDRINUSE else f"cannot be used ({error})"
        raise CommandError(
            f"Port {port} on {host} {why}. Expected a free port of an address of this machine. "
            "Stop the process that listens there, or choose another port: make lab PORT=8001"
        ) from error
    listener.set_inheritable(False)
    return listener


def prepare_data_folder(data: Path) -> None:
    """Makes the folder, and keeps the key of its sessions there. Raises CommandError when it cannot be written to."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.RUNS.mkdir(exist_ok=True)
        if not settings.SECRET_KEY_FILE.exists():
            settings.SECRET_KEY_FILE.touch(0o600)
            settings.SECRET_KEY_FILE.write_text(settings.SECRET_KEY)
    except OSError as error:
        raise CommandError(
            f"The data folder {data} cannot be written to ({error.strerror}). Expected a writable folder. "
            "Choose another one: make lab DATA=~/highwater"
        ) from error
    ensure_space(data)


def prepare_database() -> None:
    """Brings the database to this version. Raises CommandError when it cannot be."""
    try:
        executor = MigrationExecutor(connection)
        targets = executor.loader.graph.leaf_nodes()
        if executor.migration_plan(targets):
            executor.migrate(targets)
    except DatabaseError as error:
        raise CommandError(
            f"The database {settings.DATABASES['default']['NAME']} cannot be used ({error}). Expected a database of "
            "this or an earlier version. Move it away, or choose another data folder: make lab DATA=..."
        ) from error
    finally:
        connection.close()


def check_vendored_files() -> None:
    """Raises CommandError when a file of static/vendor does not match the lock."""
    said = vendor.problems(vendor.folder())
    if said:
        raise CommandError("static/vendor does not match vendor.lock.json. Check it out again.\n  " + "\n  ".join(said))


class Server(uvicorn.Server):
    """Leaves the signals to `serve`, which has labs to end after the last request."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(listener: socket.socket, ready: Callable[[], None], room: Room) -> None:
    """Serves until SIGINT or SIGTERM, then ends all labs. Calls `ready` when the first request can be answered."""
    # Engines compute in threads: the loop gets its turn soon.
    sys.setswitchinterval(SWITCH_S)
    freeze_old_survivors()
    server = Server(server_config(room))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.handle_exit, number, None)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        ready()
    keeping = asyncio.create_task(keep_time_limits())
    try:
        await serving
    finally:
        keeping.cancel()
        await close_classes()
        await close_host()


def server_config(room: Room | None = None) -> uvicorn.Config:
    """The server as the lab and its tests run it: on loopback, unless it serves a room."""
    room = room or Room()
    return uvicorn.Config(
        "lab.asgi:application",
        ws="websockets-sansio",
        ws_max_size=MAX_SOCKET_FRAME_BYTES,
        # On loopback it costs more than it saves.
        ws_per_message_deflate=not room.is_loopback,
        ssl_certfile=room.tls_cert or None,
        ssl_keyfile=room.tls_key or None,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_S,
        log_config=None,
        access_log=False,
    )
