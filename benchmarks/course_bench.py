"""How long a learner waits: for a lesson's start, the front page with many runs and answers, a challenge's verdict. And
how long the checks of all lessons take. Prints JSON.

A lab as `make lab` runs it, and Chromium. A start is from the click to the first frame with a broker in it: three
brokers on the embedded ZooKeeper, a new run each time. The front page is that of a learner with 200 runs and 10,000
answers: from the server's answer to the page's scripts being there. Scripts are counted, as they were transferred,
until the request for the recording that plays; those of the lab, which are fetched ahead, are not.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.ending import run

ROOT = Path(__file__).resolve().parent.parent
LESSON = "022-leo-and-hw"
STARTS = 20
RUNS = 200
ANSWERS = 10_000
LOADS = 9
CHALLENGE = "c2-settings-that-survive"
SCHEDULES = 200

#: notes when a broker is drawn, from before the page's own scripts on
_DRAWN = """
  const begun = performance.timeOrigin;
  const note = () => { document.documentElement.dataset.drawn = begun + performance.now(); };
  const look = () => requestAnimationFrame(document.querySelector(".hw-node.broker") ? note : look);
  if (location.pathname.startsWith("/r/")) look();
"""
_CLICK = """(button) => { button.click(); return performance.timeOrigin + performance.now(); }"""
_FRONT = """() => {
  const [page] = performance.getEntriesByType("navigation"), all = performance.getEntriesByType("resource");
  const hero = all.find(({ name }) => name.includes("/hero/"));
  const scripts = all.filter(({ name, startTime, initiatorType }) =>
    /\\.js$/.test(name) && initiatorType !== "link" && (!hero || startTime <= hero.startTime));
  return { answer_ms: page.responseEnd - page.startTime, usable_ms: page.domContentLoadedEventEnd - page.responseEnd,
    scripts_kb: scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1000 };
}"""


def fill(folder: Path) -> None:
    """Gives the one learner of a data folder many runs and answers. The runs are copies of one of theirs."""
    from lab.learning import log
    from lab.learning.events import PredictionSettled
    from lab.learning.scoring import brier
    from lab.models import Branch, Run

    model = Run.objects.first()
    assert model is not None
    for number in range(RUNS - Run.objects.count()):
        slug = f"copy{number}"
        shutil.copytree(folder / "runs" / model.slug, folder / "runs" / slug)
        run = Run.objects.create(
            slug=slug, owner=model.owner, name=slug, seed=model.seed, brokers=model.brokers, era=model.era
        )
        Branch.objects.create(run=run, name="main")
    for number in range(ANSWERS):
        right = number % 3 != 0
        log.append(
            model.owner.pk,
            PredictionSettled(
                lesson=LESSON, step="predict", choice="a", choices=4, p=0.7,
                outcome="a" if right else "b", right=right, brier=brier(0.7, 4, right),
            ),
        )  # fmt: skip
    log.close_all()


def measure_pages() -> dict[str, Any]:
    """Starts of a lesson, and loads of the front page."""
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as name:
        folder = Path(name)
        os.environ["HIGHWATER_DATA"] = name
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
        import django

        django.setup()
        from devtools.tour.chromium import chromium
        from devtools.tour.lab_process import LabProcess

        process = LabProcess(folder)
        with chromium() as browser:
            # The driver of the browser has an event loop, which Django takes for its own.
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
            try:
                address = process.start()
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.add_init_script(_DRAWN)
                page.goto(address)
                home = address.split("/sign-in/")[0]
                starts = []
                for _ in range(STARTS):
                    page.goto(f"{home}/course/{LESSON}/")
                    clicked = page.locator("form[action$='/start'] button").first.evaluate(_CLICK)
                    page.wait_for_selector("html[data-drawn]", timeout=60_000)
                    starts.append(float(page.evaluate("document.documentElement.dataset.drawn")) - clicked)
                process.stop()
                fill(folder)
                address = process.start()
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                page.goto(address)
                fronts = []
                for _ in range(LOADS):
                    page.goto(f"{home}/", wait_until="load")
                    page.wait_for_selector(".mini-cell", state="attached")
                    fronts.append(page.evaluate(_FRONT))
            finally:
                process.stop()
    starts.sort()
    middle = {key: sorted(one[key] for one in fronts)[len(fronts) // 2] for key in fronts[0]}
    # The first load fetches all scripts; later ones find them in the browser's cache.
    middle["scripts_kb"] = max(one["scripts_kb"] for one in fronts)
    return {
        "start": {
            "p50_ms": starts[len(starts) // 2],
            "p95_ms": starts[len(starts) * 95 // 100],
            "worst_ms": starts[-1],
        },
        "front": middle,
    }


def measure_challenge() -> dict[str, Any]:
    """The course's own entry, on as many schedules as a verdict takes."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    import django

    django.setup()
    from lab.challenges.judge import judge
    from lab.challenges.loader import challenges

    challenge = challenges()[CHALLENGE]
    verdict = judge(challenge, challenge.par, range(1, SCHEDULES + 1))
    return {"schedules": SCHEDULES, "passes": verdict.passes, "cpu_s": verdict.cpu_s}


def measure_checks() -> dict[str, Any]:
    """`manage.py check_exercises`: all lessons over five seeds."""
    begun_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "manage.py", "check_exercises"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {"seconds": time.perf_counter() - begun_s, "passed": done.returncode == 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["pages", "challenge", "checks"], help="one part (default: all)")
    only = parser.parse_args().only
    found: dict[str, Any] = {}
    if only in (None, "pages"):
        found |= measure_pages()
    if only in (None, "challenge"):
        found["challenge"] = measure_challenge()
    if only in (None, "checks"):
        found["checks"] = measure_checks()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    run(main)
