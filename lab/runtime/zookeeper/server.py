"""Starts and stops the ZooKeeper that labs run on: a real server, from the jars that come inside pyspark.

What it holds is a projection: each branch writes its tree from its recording when it is opened. So the server begins
empty, and does not wait for the disk on each write.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from broker_core.texts import Text, render
from lab.runtime.machine.java import Java, JavaError, find_java

JARS = (
    "zookeeper-3", "zookeeper-jute", "slf4j-api", "metrics-core", "snappy-java", "commons-io", "audience-annotations",
    "netty-common", "netty-buffer", "netty-transport-4", "netty-handler-4", "netty-resolver-4", "netty-codec-base",
)  # fmt: skip
MAIN_CLASS = "org.apache.zookeeper.server.ZooKeeperServerMain"
JVM_FLAGS = (
    "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
    "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024",
)  # fmt: skip
MAX_SESSION_TIMEOUT_MS = 3_600_000
START_TIMEOUT_S = 90.0
"""A JVM takes a second; beside much other work it takes its time."""
ANSWER_TIMEOUT_S = 10.0
LOOK_TIMEOUT_S = 1.0
STOP_TIMEOUT_S = 5.0
PORT_ATTEMPTS = 5


class ZookeeperError(Exception):
    """ZooKeeper does not run. `what`: what was wrong, what was expected and what to do, in prose for a terminal."""

    def __init__(self, what: Text | str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return render(self.what)


class EmbeddedZookeeper:
    """A ZooKeeper of one lab process, on loopback, with its files in a folder of its own.

    `start` ends a server that an earlier process left behind in the same folder (after `kill -9`), and refuses to
    share the folder with a process that lives.

    Args:
        data_dir: made if absent; what an earlier server kept there is removed at the start.
        port: None takes a free one.
    """

    def __init__(self, data_dir: Path | str, port: int | None = None):
        self.data_dir = Path(data_dir).resolve()
        self._wanted_port = port
        self._port: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None

    @property
    def address(self) -> str:
        """HOST:PORT to connect to."""
        if self._port is None:
            raise ZookeeperError("ZooKeeper is not running: start it first.")
        return f"127.0.0.1:{self._port}"

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the server and returns when it answers.

        Raises:
            ZookeeperError: no Java, the port is in use, the folder belongs to a running lab, or the JVM ended.
        """
        if self.alive:
            return
        try:
            java = find_java()
        except JavaError as error:
            raise ZookeeperError(f"ZooKeeper needs Java: {error}") from error
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            self._take_folder()
        except OSError as error:
            raise ZookeeperError(
                f"ZooKeeper cannot write in {self.data_dir} ({error.strerror}). Choose another data folder."
            ) from error
        try:
            self._end_orphan()
            shutil.rmtree(self.data_dir / "version-2", ignore_errors=True)
            archive = class_archive(java)
            for attempt in range(1, PORT_ATTEMPTS + 1):
                try:
                    self._start_on(java, archive, self._wanted_port or free_port())
                    return
                except PortTaken:
                    # Another process took the free port before the server bound it.
                    if self._wanted_port or attempt == PORT_ATTEMPTS:
                        raise
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the server; harmless if there is none. Close the clients first."""
        if self._process is not None:
            end_process(self._process.pid, self._process)
            self._process = None
            self._pid_file.unlink(missing_ok=True)
        self._port = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> "EmbeddedZookeeper":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def _pid_file(self) -> Path:
        return self.data_dir / "zookeeper.pid"

    @property
    def _config_file(self) -> Path:
        return self.data_dir / "zoo.cfg"

    @property
    def _log_file(self) -> Path:
        return self.data_dir / "zookeeper.log"

    def _take_folder(self) -> None:
        """A lock that the system frees with the process, however that ends."""
        lock = os.open(self.data_dir / "zookeeper.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise ZookeeperError(
                f"Another lab is running with the data folder {self.data_dir}. Stop it, or choose another folder with "
                "make lab DATA=..."
            ) from error
        self._lock = lock

    def _end_orphan(self) -> None:
        """Ends the server of a process that was killed. Its command line names our folder, else it is not ours."""
        try:
            pid = int(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return
        if str(self._config_file) in command_line(pid):
            end_process(pid)
        self._pid_file.unlink(missing_ok=True)

    def _start_on(self, java: Java, archive: Path | None, port: int) -> None:
        if port_is_taken(port):
            raise PortTaken(port)
        write_config(self._config_file, self.data_dir, port)
        with self._log_file.open("wb") as log:
            # A session of its own: Ctrl-C in the terminal is for us, who close the clients before the server.
            try:
                self._process = subprocess.Popen(
                    java_command(java, archive, self._config_file),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.data_dir, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise ZookeeperError(f"ZooKeeper's JVM does not start: {java.executable}: {error.strerror}") from error
        self._pid_file.write_text(str(self._process.pid))
        if wait_for_server(self._process, port):
            self._port = port
            return
        code = self._process.poll()
        said = self._log_file.read_text(errors="replace").strip().splitlines()
        end_process(self._process.pid, self._process)
        self._process = None
        if code is not None and (port_is_taken(port) or any("BindException" in line for line in said)):
            raise PortTaken(port)
        outcome = f"ended with code {code}" if code is not None else f"did not respond within {START_TIMEOUT_S:.0f} s"
        raise ZookeeperError(
            f"ZooKeeper's JVM ({java.executable}, Java {java.version}) {outcome}. Its last line: "
            f"{said[-1] if said else '-'}. Its output is in {self._log_file}. Free some memory, or set JAVA_HOME to "
            "another Java."
        )


class PortTaken(ZookeeperError):
    def __init__(self, port: int):
        super().__init__(
            f"Port {port} on 127.0.0.1 is in use, so ZooKeeper cannot listen there. Stop what listens, or choose "
            "another port, or none to get a free one."
        )


def java_command(java: Java, archive: Path | None, config: Path, *more_flags: str) -> list[str]:
    sharing = [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if archive else []
    return [str(java.executable), *JVM_FLAGS, *sharing, *more_flags, "-cp", class_path(), MAIN_CLASS, str(config)]


def class_path() -> str:
    """The jars of ZooKeeper inside pyspark, in a fixed order."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ZookeeperError("ZooKeeper comes with the package pyspark, which is not installed: run `make setup`.")
    jars = Path(spec.origin).parent / "jars"
    found = []
    for name in JARS:
        match = sorted(jars.glob(f"{name}*.jar"))
        if not match:
            raise ZookeeperError(f"pyspark's folder {jars} has no {name}*.jar: remove .venv and run `make setup`.")
        found.append(str(match[0]))
    return os.pathsep.join(found)


def write_config(config: Path, data_dir: Path, port: int) -> None:
    config.write_text(
        "\n".join(
            (
                # Sessions of up to an hour: simulated time decides when the lab closes one, not a suspended laptop.
                "tickTime=100",
                f"maxSessionTimeout={MAX_SESSION_TIMEOUT_MS}",
                f"dataDir={data_dir}",
                f"clientPort={port}",
                "clientPortAddress=127.0.0.1",
                "maxClientCnxns=0",
                "4lw.commands.whitelist=*",
                "autopurge.snapRetainCount=3",
                "autopurge.purgeInterval=1",
                "",
            )
        )
    )


# Starting faster


def class_archive(java: Java) -> Path | None:
    """An archive of the classes that ZooKeeper loads, which halves the time to start; made once for each Java.

    Kept in the environment that holds the jars. None if it cannot be made: the server also starts without it.
    """
    key = hashlib.sha256(f"{java.executable}|{java.version}|{class_path()}|{JVM_FLAGS}".encode()).hexdigest()[:16]
    archive = Path(sys.prefix) / "share" / "highwater" / f"zookeeper-{key}.jsa"
    if archive.exists():
        return archive
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="highwater-classes-") as folder:
        made = _dump_classes(java, Path(folder))
        if made:
            archive.parent.mkdir(parents=True, exist_ok=True)
            beside = archive.with_suffix(f".{os.getpid()}")
            shutil.copyfile(made, beside)
            beside.replace(archive)
            return archive
    return None


def _dump_classes(java: Java, folder: Path) -> Path | None:
    """Starts a server to see which classes it loads, and has Java write them to a file."""
    config, class_list, archive = folder / "zoo.cfg", folder / "classes", folder / "archive.jsa"
    port = free_port()
    write_config(config, folder, port)
    listing = java_command(java, None, config, "-Xshare:off", f"-XX:DumpLoadedClassList={class_list}")
    process = subprocess.Popen(
        listing, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        answered = wait_for_server(process, port)
    finally:
        end_process(process.pid, process)
    if not answered or not class_list.exists():
        return None
    flags = [flag for flag in JVM_FLAGS if flag.startswith("-XX:+Use")]
    return archive if java.dump_classes(class_list, archive, class_path(), flags, START_TIMEOUT_S) else None


# Ports and processes


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def port_is_taken(port: int) -> bool:
    with socket.socket() as listener:
        # As a server does: connections that linger after a close do not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def send_word(address: str, word: bytes = b"srvr", within_s: float = ANSWER_TIMEOUT_S) -> bytes:
    """The response of HOST:PORT to one of ZooKeeper's four-letter words; empty if there is none. A closed port is
    noticed at once.
    """
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=within_s) as connection:
            connection.sendall(word)
            answer = b""
            while chunk := connection.recv(4096):
                answer += chunk
            return answer
    except OSError:
        return b""


def wait_for_server(process: "subprocess.Popen[bytes]", port: int) -> bool:
    """Asks on fresh sockets until the server serves: a client that connects before that would hang (3.9.5)."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        if b"Zookeeper version" in send_word(f"127.0.0.1:{port}", within_s=LOOK_TIMEOUT_S):
            return True
        time.sleep(0.01)
    return False


def command_line(pid: int) -> str:
    """What a process was started with; empty if there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    with contextlib.suppress(OSError):
        return subprocess.run(
            ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
    return ""


def end_process(pid: int, child: "subprocess.Popen[bytes] | None" = None) -> None:
    """Asks a process to end, and makes it end if it does not."""
    for wanted in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, wanted)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while time.monotonic() < deadline:
            gone = child.poll() is not None if child else not command_line(pid)
            if gone:
                return
            time.sleep(0.01)
