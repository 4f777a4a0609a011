"""From a presenter's change to the screens of those who follow, in Chromium. Prints JSON.

A class as `make class` gives it: one page leads, three others follow it at 1440, 1024 and 390 px. The presenter walks
through screens, partitions, events and messages at random. Each page notes in its animation frames what it shows; a
change has come when a follower shows screen, partition, selection and event of the presenter.
"""

import argparse
import itertools
import json
import os
import random
import re
import sys
import tempfile
from bisect import bisect_left
from pathlib import Path
from typing import Any

from benchmarks.ending import run

SEED = 20
SIZES = ((1440, 900), (1024, 768), (390, 844))
PAUSE_MS = 700
"""Between two changes: more than what is allowed for one to arrive."""
KEYS = (",", ".", "3", "5", "7", "9", "d", "g", "r", "v", "Home", "End")
LINES = (
    "kafka-topics.sh --create --topic orders --partitions 3 --replication-factor 3",
    "producer open p1 --acks all",
    *(f"producer send p1 orders-{n} " + " ".join(f"value-{i}" for i in range(50)) for n in range(3)),
)
_NOTE = """async () => {
  const urls = performance.getEntriesByType("resource").map((entry) => entry.name);
  const moduleOf = (path) => import(urls.find((url) => url.endsWith(path)));
  const { view } = await moduleOf("/ui/store/view.js");
  const state = await moduleOf("/ui/store/state.js");
  window.noted = [];
  let last = "";
  const look = () => {
    const { branch, screen, partition, selection } = view();
    const { seq, isBehind, loading } = state.player;
    const now = JSON.stringify([screen, partition, selection, seq]);
    if (now !== last && !isBehind && !loading) {
      window.noted.push([Date.now(), now]);
      last = now;
    }
    requestAnimationFrame(look);
  };
  look();
}"""


def measure(changes: int) -> dict[str, Any]:
    """Delays of that many changes at each follower."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    import django

    django.setup()
    from devtools.tour.chromium import chromium
    from devtools.tour.lab_process import started_lab

    with (
        tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder,
        started_lab(Path(folder)) as address,
        chromium() as browser,
    ):
        leader, followers = teach(browser, address)
        for page in (leader, *followers):
            page.evaluate(_NOTE)
        began = walk(leader, changes)
        noted = [page.evaluate("window.noted") for page in (leader, *followers)]
    return figures(began, noted[0], noted[1:])


def teach(browser: Any, address: str) -> tuple[Any, list[Any]]:
    """A class that is led: the presenter's page of their lab, and the pages that follow it."""
    server = re.sub(r"/sign-in/.*", "", address)
    board = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    board.goto(address)
    board.goto(f"{server}/classes/")
    form = board.locator("#new-class")
    form.get_by_label("Name").fill("Screens")
    form.get_by_role("button", name="Start class").click()
    link = board.locator(".address a").get_attribute("href")
    lab = board.locator('a[href^="/r/"]').first.get_attribute("href")
    leader = board.context.new_page()
    leader.goto(f"{server}{lab}")
    leader.locator(".nodes .state.up").nth(2).wait_for()
    leader.keyboard.press("c")
    for line in LINES:
        leader.locator("#console-line").fill(line)
        leader.keyboard.press("Enter")
        leader.locator("hw-console li", has=leader.get_by_text(line, exact=True)).last.wait_for()
    leader.locator(".hw-cells").first.wait_for()
    leader.wait_for_timeout(2_000)
    leader.evaluate("document.activeElement.blur()")
    leader.keyboard.press("c")
    leader.keyboard.press("Space")
    board.get_by_role("link", name="Open the board").click()
    board.get_by_role("button", name="Lead the class").click()
    return leader, [come(browser, link, width, height) for width, height in SIZES]


def come(browser: Any, link: str, width: int, height: int) -> Any:
    """A learner's page, which follows who leads."""
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.goto(link)
    page.get_by_role("textbox", name="Name").fill(f"At {width}")
    page.get_by_role("button", name="Join").click()
    page.get_by_role("link", name="Open my lab").click()
    page.get_by_role("button", name=re.compile("^Following")).first.wait_for()
    return page


def walk(leader: Any, changes: int) -> list[float]:
    """Does something that leads elsewhere `changes` times; returns when each began, by the clock of the machine."""
    dice, began = random.Random(SEED), []
    for _ in range(changes):
        began.append(leader.evaluate("Date.now()"))
        things = leader.locator(".hw-strips [role=button], .hw-node")
        if dice.random() < 0.3 and things.count():
            things.nth(dice.randrange(things.count())).dispatch_event("click")
        else:
            leader.evaluate("document.activeElement.blur()")
            leader.keyboard.press(dice.choice(KEYS))
        leader.wait_for_timeout(PAUSE_MS)
    return [*began, leader.evaluate("Date.now()")]


def figures(began: list[float], led: list[Any], followers: list[list[Any]]) -> dict[str, Any]:
    """How much later each follower showed a change than the presenter's page. A change counts if it was the last of its
    interval there.
    """
    delays, missed = [], 0
    for start, end in itertools.pairwise(began):
        own = [(at, shown) for at, shown in led if start <= at < end]
        if not own:
            continue
        at, shown = own[-1]
        for noted in followers:
            after = noted[bisect_left(noted, at, key=lambda note: note[0]) :]
            come_ms = next((then - at for then, what in after if what == shown and then < end), None)
            missed += come_ms is None
            delays += [] if come_ms is None else [come_ms]
    if not delays:
        sys.exit(f"none of {missed} changes came to a follower's screen in time")
    delays.sort()
    return {
        "changes": len(delays),
        "missed": missed,
        "p50_ms": delays[len(delays) // 2],
        "p99_ms": delays[len(delays) * 99 // 100],
        "worst_ms": delays[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=120, help="of the presenter (default 120)")
    print(json.dumps(measure(parser.parse_args().changes), indent=1))


if __name__ == "__main__":
    run(main)
