"""What a lab page shows, read off the page in one look: no question to its modules or to the server."""

import re
from typing import Any, NamedTuple

from playwright.sync_api import Page

_LOOK = """() => {
  const texts = (within, what) =>
    [...within.querySelectorAll(what)].map((one) => one.textContent.trim().replace(/\\s+/g, " "));
  const first = (within, what) => texts(within, what)[0] ?? "";
  return {
    clock: first(document, "hw-transport .clock"),
    event: first(document, "hw-transport .number"),
    state: first(document, "hw-transport .tp > .tag"),
    rate: first(document, "hw-transport .speed b"),
    connection: first(document, "hw-connection"),
    health: texts(document, "hw-stage-bar .tag"),
    nodes: [...document.querySelectorAll(".hw-node")].map((node) => ({
      state: node.getAttribute("class").split(" ")[2], lines: texts(node, "text").filter(Boolean) })),
    messages: texts(document, ".hw-pill"),
    partitions: [...document.querySelectorAll(".hw-partition")].map((one) => ({
      name: first(one, ".hw-partition-name"),
      facts: first(one, ".hw-partition-facts"),
      lanes: [...one.querySelectorAll(".hw-lane")].map((lane) => lane.getAttribute("aria-label") ?? "") })),
    console: [...document.querySelectorAll("hw-console li")].map((one) => ({
      line: first(one, ".typed"),
      running: one.querySelector(".tag.warn") !== null,
      exit: first(one, ".tag.bad"),
      output: one.querySelector("pre")?.textContent ?? "" })),
    refusals: texts(document, ".messages .message.bad"),
  };
}"""


class ShownNode(NamedTuple):
    """A card of the picture: up, starting, frozen or down, and the text below its title."""

    state: str
    lines: str


class ShownLane(NamedTuple):
    """A replica's strip."""

    role: str
    leo: int
    hw: int


class ShownPartition(NamedTuple):
    """A partition's header and strips; `leader` is "" without a leader, lanes are by node."""

    leader: str
    epoch: int
    isr: set[int]
    lanes: dict[str, ShownLane]


class ShownCommand(NamedTuple):
    """A line of the console and what it printed."""

    line: str
    running: bool
    failed: bool
    output: str


class Shown(NamedTuple):
    """One look at the page, in English. Nodes are by the titles of their cards, partitions by name."""

    at_us: int
    event: int
    state: str
    rate: str
    connection: str
    health: list[str]
    nodes: dict[str, ShownNode]
    messages: list[str]
    partitions: dict[str, ShownPartition]
    console: list[ShownCommand]
    refusals: list[str]

    @property
    def is_paused(self) -> bool:
        return self.state.endswith("PAUSED")

    @property
    def is_past(self) -> bool:
        return "PAST" in self.state

    def has_message(self, label: str) -> bool:
        """Whether a message whose label has this prefix is in flight."""
        return any(message.startswith(label) for message in self.messages)

    def node(self, title: str) -> ShownNode:
        """A card of the picture; an empty one while it is not there."""
        return self.nodes.get(title, ShownNode("", ""))

    @property
    def brokers_up(self) -> int:
        return sum(title.startswith("broker ") and node.state == "up" for title, node in self.nodes.items())

    @property
    def controller(self) -> str:
        """Title of the broker that is the controller, "" while none is."""
        return next((title for title, node in self.nodes.items() if "controller · epoch" in node.lines), "")


def look(page: Page) -> Shown:
    """Reads what the page shows."""
    seen: dict[str, Any] = page.evaluate(_LOOK)
    return Shown(
        at_us=_instant_us(seen["clock"]),
        event=int(re.sub(r"\D", "", seen["event"]) or 0),
        state=seen["state"],
        rate=seen["rate"],
        connection=seen["connection"],
        health=seen["health"],
        nodes={node["lines"][0]: ShownNode(node["state"], " · ".join(node["lines"][1:])) for node in seen["nodes"]},
        messages=seen["messages"],
        partitions={one["name"]: _partition(one) for one in seen["partitions"]},
        console=[
            ShownCommand(one["line"], one["running"], bool(one["exit"]), one["output"]) for one in seen["console"]
        ],
        refusals=seen["refusals"],
    )


def _instant_us(clock: str) -> int:
    """A clock such as "1:02:03.004 005 µs", in microseconds."""
    found = re.fullmatch(r"(?:(\d+):)?(\d+):(\d+)\.(\d+) (\d+) µs", clock)
    if not found:
        return 0
    hours, minutes, seconds, millis, micros = (int(part or 0) for part in found.groups())
    return (((hours * 60 + minutes) * 60 + seconds) * 1000 + millis) * 1000 + micros


def _partition(seen: dict[str, Any]) -> ShownPartition:
    facts = seen["facts"]
    leader = re.search(r"leader (b\d+)", facts)
    epoch = re.search(r"epoch (-?\d+)", facts)
    isr = re.search(r"ISR \{([\d,]*)\}", facts)
    return ShownPartition(
        leader[1] if leader else "",
        int(epoch[1]) if epoch else -1,
        {int(broker) for broker in isr[1].split(",") if broker} if isr else set(),
        dict(_lane(label) for label in seen["lanes"] if label),
    )


def _lane(label: str) -> tuple[str, ShownLane]:
    """A label such as "b1, leader, log end offset 5, high watermark 4"; without a log only the first two."""
    node, role, *offsets = label.split(", ")
    leo, hw = (int(offset.rsplit(" ", 1)[1]) for offset in offsets) if len(offsets) == 2 else (0, 0)
    return node, ShownLane(role, leo, hw)
