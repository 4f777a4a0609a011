"""A page that is one file: its weight before data, how soon it is there, and how soon a seek is drawn. Prints JSON.

A run of three brokers and 50,000 events, saved as a page and opened from the disk in Chromium without a network. Seeks
go to instants drawn at random, most of them in segments that are not decoded yet; the time ends when they are drawn.
"""

import argparse
import json
import os
import random
import re
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.ending import run

PARTS = re.compile(r'<script type="text/plain" id="(?:segment-\d+|index)">[^<]*</script>\n')
WARM_UP = 3

_OPENED = """async () => {
  const isThere = () => /[0-9]/.test(document.querySelector("#lab:not(.loading) .number")?.textContent ?? "");
  while (!isThere()) await new Promise((resolve) => requestAnimationFrame(resolve));
  return performance.now();
}"""
_SEEK = """async (part) => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const number = document.querySelector(".number");
  const before = number.textContent;
  const canvas = document.querySelector(".hw-density");
  const { left, top, width } = canvas.getBoundingClientRect();
  const at = { clientX: left + 150 + part * (width - 300), clientY: top + 20, button: 0, pointerId: 1, bubbles: true };
  const began = performance.now();
  canvas.setPointerCapture = () => {};
  canvas.dispatchEvent(new PointerEvent("pointerdown", at));
  while (number.textContent === before && performance.now() - began < 5000) await frame();
  return performance.now() - began;
}"""


def saved_page(events: int, folder: Path) -> Path:
    """A page of a branch with that many events at least."""
    import django

    django.setup()
    from benchmarks.server_bench import make_recording
    from lab.archives.excerpt import Excerpt
    from lab.web.alone.document import write_page

    recording = make_recording(folder / "runs", events)
    excerpt = Excerpt(recording)
    about = {
        "run": "bench",
        "name": "bench",
        "branch": "main",
        "era": "3.9",
        "brokers": 3,
        "seed": 1,
        "saved_ms": 0,
        "events": excerpt.last_seq,
        "branch_events": excerpt.last_seq,
        "from_us": excerpt.from_us,
        "to_us": excerpt.to_us,
        "start_wall_ms": 0,
        "core": "",
        "version": "",
    }
    path = folder / "page.html"
    with path.open("wb") as target:
        write_page(target, excerpt, about, [])
    recording.close()
    return path


def measure(events: int, seeks: int) -> dict[str, Any]:
    """Weights in KB, times in ms."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder:
        path = saved_page(events, Path(folder))
        text = path.read_text(encoding="utf-8")
        opened, sought = _in_browser(path, seeks)
    return {
        "events": events,
        "before_data_kb": round(len(PARTS.sub("", text).encode()) / 1000),
        "page_kb": round(len(text.encode()) / 1000),
        "open_ms": round(median(opened)),
        "seek": {"p50_ms": round(median(sought), 1), "p95_ms": round(sorted(sought)[int(0.95 * len(sought))], 1)},
    }


def _in_browser(path: Path, seeks: int) -> tuple[list[float], list[float]]:
    """Milliseconds from navigation to the first state shown, of three openings; and of each seek."""
    from devtools.tour.chromium import chromium

    places = random.Random(1)
    opened: list[float] = []
    with chromium() as browser:
        for _ in range(3):
            context = browser.new_context(
                offline=True, viewport={"width": 1440, "height": 900}, reduced_motion="reduce"
            )
            page = context.new_page()
            page.goto(path.as_uri(), wait_until="commit")
            opened.append(page.evaluate(_OPENED))
        sought = [page.evaluate(_SEEK, places.random()) for _ in range(WARM_UP + seeks)][WARM_UP:]
    return opened, sought


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--seeks", type=int, default=100)
    given = parser.parse_args()
    print(json.dumps(measure(given.events, given.seeks), indent=1))


if __name__ == "__main__":
    run(main)
