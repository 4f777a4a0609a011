"""From the server's stamp of an event to the end of the frame callback that drew it, in Chromium. Prints JSON.

A lab as `make lab` runs it plays at 1x: three brokers, three partitions of factor 3, producers that send 200 records/s
with acks=all. One page of 1440 by 900 shows all nine replicas. The page itself notes each latency.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.ending import run

STREAMS = (("p1", "orders-0", 67), ("p2", "orders-1", 67), ("p3", "orders-2", 66))
WARM_UP_MS = 5_000

#: the page's own player, by the module that it is in already
_PLAYER = """
  const urls = performance.getEntriesByType("resource").map((entry) => entry.name);
  const { player } = await import(urls.find((url) => url.endsWith("/ui/store/state.js")));
"""
_FORGET = f"""async () => {{ {_PLAYER}
  player.latencies.length = 0;
}}"""
_READ = f"""async () => {{ {_PLAYER}
  return {{ latencies: player.latencies, seq: player.seq, at_us: player.at_us,
    acknowledged: Object.values(player.view.nodes).reduce((sum, node) => sum + (node.acknowledged ?? 0), 0) }};
}}"""


def measure(seconds: int) -> dict[str, Any]:
    """Latencies of that many seconds."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    import django

    django.setup()
    from devtools.tour.chromium import chromium
    from devtools.tour.lab_page import LabPage
    from devtools.tour.lab_process import started_lab
    from devtools.tour.photographer import Photographer
    from devtools.tour.tour import Tour

    with (
        tempfile.TemporaryDirectory(prefix="highwater-bench-") as name,
        started_lab(folder := Path(name)) as address,
        chromium() as browser,
    ):
        # The browser's driver has an event loop, which Django would treat as its own.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        tour = Tour(browser, address, folder, shots=Photographer(browser, folder / "shots"))
        lab = LabPage.of_new_run(tour, "bench").with_orders()
        lab.speed(1)
        for producer, partition, rate in STREAMS:
            lab.send(f"producer open {producer} --acks all")
            lab.send(f"producer stream {producer} {partition} {rate}")
        lab.close_console()
        page = lab.page
        page.wait_for_timeout(WARM_UP_MS)
        page.evaluate(_FORGET)
        before = page.evaluate(_READ)
        page.wait_for_timeout(seconds * 1_000)
        after = page.evaluate(_READ)
    latencies = sorted(after["latencies"])
    return {
        "seconds": seconds,
        "painted_batches": len(latencies),
        "latency_p50_ms": latencies[len(latencies) // 2],
        "latency_p99_ms": latencies[len(latencies) * 99 // 100],
        "latency_worst_ms": latencies[-1],
        "records_per_s": round((after["acknowledged"] - before["acknowledged"]) / seconds, 1),
        "events_per_s": round((after["seq"] - before["seq"]) / seconds),
        "simulated_s_per_s": round((after["at_us"] - before["at_us"]) / 1e6 / seconds, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long (default 60)")
    print(json.dumps(measure(parser.parse_args().seconds), indent=1))


if __name__ == "__main__":
    run(main)
