"""The inputs of a run, and their bytes in a recording."""

import msgspec


class Input(msgspec.Struct, frozen=True, array_like=True):
    """An input from outside. `step` and `seq`: the number of steps and events before it; `at_us`: its simulated time.

    `kind` is command (`text` the line, `source` who), interrupt (`text` the command's number), foreign (`text` the
    change as JSON), or met: a foreign change that an operation found (the change contains the operation). Of TCP:
    connect (`text` the broker's id, `source` the peer's host), piece and frame (`source` the connection, `data` bytes
    of a frame; only the last ones are a frame), disconnect (`source` the connection).
    """

    step: int
    seq: int
    at_us: int
    kind: str
    source: str
    text: str
    data: bytes = b""

    def encode(self) -> bytes:
        """The bytes in a recording: JSON, and after a line feed the bytes received from a client."""
        return b"".join(self.encode_parts())

    def encode_parts(self) -> tuple[bytes, bytes]:
        """The same in two pieces; the second is the received bytes, which may be large and are not copied."""
        head = msgspec.json.encode((self.step, self.seq, self.at_us, self.kind, self.source, self.text))
        return (head + b"\n", self.data) if self.data else (head, b"")

    @classmethod
    def decode(cls, recorded: bytes) -> "Input":
        """Reverses `encode`. In older recordings the JSON also contains `data`."""
        head, _, data = recorded.partition(b"\n")
        given = msgspec.json.decode(head, type=cls)
        return msgspec.structs.replace(given, data=data) if data else given
