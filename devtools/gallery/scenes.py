"""The script of the gallery's run, in scenes: at the end of each the components are shown."""

from typing import NamedTuple


class Scene(NamedTuple):
    """One fixed state."""

    name: str
    """Part of the address, and the name of its bookmark."""
    lines: tuple[str, ...]
    """Console lines, executed one after the other; a line that ends with `&` is not waited for."""
    then_ms: int
    """Simulated milliseconds from the last line to the instant shown."""
    selection: str
    """What is selected, as in the page's address (`sel`)."""


SCENES = (
    Scene("brokers", (), 2_000, "broker:b1"),
    Scene(
        "topic",
        ("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1",),
        1_000,
        "partition:orders-0",
    ),
    Scene(
        "records",
        ("producer open p1 --acks all", "producer burst p1 orders-0 8", "producer send p1 orders-0 anna:10 &"),
        2,
        "replica:orders-0@b1",
    ),
    Scene(
        "group",
        (
            "consumer start c1 --group desk --topic orders",
            "consumer start c2 --group desk --topic orders",
            'wait "group desk == Stable 2" 30s',
        ),
        500,
        "znode:/controller",
    ),
    Scene(
        "transaction",
        (
            "producer open t1 --transactional-id pay",
            "producer begin t1",
            "producer send t1 orders-1 bert:20",
        ),
        300,
        "record:orders-0@b1:8",
    ),
    Scene("leader-down", ("broker kill 1",), 200, "broker:b1"),
    Scene("recovered", ("broker start 1",), 20_000, "partition:orders-1"),
)
OTHER = Scene("other", ("broker kill 2", "producer send p1 orders-0 cleo:30 &"), 20_000, "")
"""What happens after the scene `transaction` in the branch that was forked there; its name is that of the branch."""
