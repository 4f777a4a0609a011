"""A plain ZooKeeper client for the terminal: its writes are external changes, which the lab follows."""

import contextlib
from collections.abc import Iterator

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadArgumentsError,
    BadVersionError,
    KazooException,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import ZnodeStat

from broker_core.zk import store
from lab.runtime.zookeeper.server import ZookeeperError, send_word

TIMEOUT_S = 20.0

ERRORS: dict[type[KazooException], type[store.ZkError]] = {
    NoNodeError: store.NoNode,
    NodeExistsError: store.NodeExists,
    BadVersionError: store.BadVersion,
    NotEmptyError: store.NotEmpty,
    NoChildrenForEphemeralsError: store.NoChildrenForEphemerals,
    BadArgumentsError: store.InvalidPath,
}


class ZookeeperClient:
    """A session on HOST:PORT, with an optional /CHROOT behind it that all paths are below.

    Raises:
        ZkError: ZooKeeper refused an operation.
        ZookeeperError: the address is invalid, no server responds there, or the chroot does not exist.
    """

    def __init__(self, address: str):
        server, slash, chroot = address.partition("/")
        host, colon, port = server.rpartition(":")
        if not (host and colon and port.isdigit()):
            raise ZookeeperError(f"Invalid ZooKeeper address {address}. Expected HOST:PORT or HOST:PORT/CHROOT.")
        if not send_word(server):
            raise ZookeeperError(
                f"No ZooKeeper responds at {server}. Expected a running lab. Start it with `make lab`."
            )
        self.address = address
        self._client = KazooClient(hosts=server, timeout=TIMEOUT_S)
        try:
            self._client.start(timeout=TIMEOUT_S)
        except KazooTimeoutError as error:
            self.close()
            raise ZookeeperError(f"ZooKeeper at {server} did not open a session within {TIMEOUT_S:.0f} s.") from error
        if slash and chroot and self._client.exists(f"/{chroot}") is None:
            self.close()
            raise ZookeeperError(
                f"ZooKeeper at {server} has no /{chroot}. Expected the chroot of an open branch. Open one in the lab."
            )
        self._client.chroot = f"/{chroot}".rstrip("/")

    def close(self) -> None:
        self._client.stop()
        self._client.close()

    def __enter__(self) -> "ZookeeperClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def children(self, path: str) -> list[str]:
        """Names, sorted."""
        with _plain_errors(path):
            return sorted(self._client.get_children(path))

    def get(self, path: str) -> tuple[bytes, ZnodeStat]:
        with _plain_errors(path):
            data, stat = self._client.get(path)
            return data or b"", stat

    def set(self, path: str, data: bytes, version: int = store.ANY_VERSION) -> ZnodeStat:
        with _plain_errors(path):
            return self._client.set(path, data, version)

    def create(self, path: str, data: bytes = b"") -> str:
        with _plain_errors(path):
            return str(self._client.create(path, data))

    def delete(self, path: str, version: int = store.ANY_VERSION) -> None:
        if path == "/":
            raise store.InvalidPath(path)
        with _plain_errors(path):
            self._client.delete(path, version)

    def tree(self, path: str) -> Iterator[tuple[str, bytes, ZnodeStat]]:
        """The znode and all below it, parents before children, sorted. What vanishes meanwhile is left out."""
        yield path, *self.get(path)
        below = []
        with contextlib.suppress(store.NoNode):
            below = self.children(path)
        for name in below:
            with contextlib.suppress(store.NoNode):
                yield from self.tree(f"{path.rstrip('/')}/{name}")


@contextlib.contextmanager
def _plain_errors(path: str) -> Iterator[None]:
    store.validate_path(path)
    try:
        yield
    except tuple(ERRORS) as error:
        raise ERRORS[type(error)](path) from error
    except (KazooException, KazooTimeoutError, OSError) as error:
        raise ZookeeperError(f"ZooKeeper stopped responding ({error or type(error).__name__}).") from error
