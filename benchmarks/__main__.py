"""Runs the benches, prints what was measured beside its bar, and keeps all of it as JSON in benchmarks/results/.

    python -m benchmarks [--only engine,server] [--life-seconds 600]

Each bench runs in a process of its own, so that none inherits the other's heap, and one after the other. A figure that
misses its bar is called short; then the exit code is 1.
"""

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.bars import BARS, Row, judge, show

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
BENCHES = tuple(dict.fromkeys(bar.bench for bar in BARS))


def run_bench(name: str, *arguments: str) -> dict[str, Any] | None:
    """The JSON printed by a bench; None when it failed, and why on standard error. That of the bench is passed
    through.
    """
    command = [sys.executable, "-m", f"benchmarks.{name}_bench", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as bench:
        try:
            printed, _ = bench.communicate()
        except BaseException:
            # It has processes of its own, which it ends first.
            bench.terminate()
            raise
    if bench.returncode:
        print(f"{name}: the bench {how_it_ended(bench.returncode)}", file=sys.stderr)
        return None
    try:
        found: dict[str, Any] = json.loads(printed)
    except ValueError:
        print(f"{name}: the bench printed no figures, but {printed[-200:]!r}", file=sys.stderr)
        return None
    return found


def how_it_ended(code: int) -> str:
    """What the code of a process that failed means."""
    if code >= 0:
        return f"ended with {code}"
    try:
        by = signal.Signals(-code).name
    except ValueError:
        by = f"signal {-code}"
    return f"was ended by {by}" + (": memory may have run out" if by == "SIGKILL" else "")


def _terminated(*_: object) -> None:
    sys.exit("The benches were terminated (SIGTERM): what was measured until then is not stored.")


def machine() -> dict[str, Any]:
    """Where it was measured, and what else ran there."""
    cpu_info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpu_info.read_text()) if cpu_info.exists() else None
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "cpu": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2),
        "commit": commit.stdout.strip(),
    }


def print_table(rows: list[Row]) -> None:
    """One line a figure, with the acceptance statement that it belongs to, if any."""
    lines = [("bench", "what", "measured", "bar", "", "statement", "both sides")]
    for row in rows:
        measured = "" if row.measured is None else f"{show(row.measured)} {row.unit}".strip()
        verdict = "" if row.verdict == "reported" else row.verdict
        lines.append((row.bench, row.name, measured, row.bar, verdict, str(row.statement or ""), row.sides))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        cells = [
            cell.rjust(width) if column in (2, 3) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
        if not number:
            print("  ".join("-" * width for width in widths))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default="", help=f"benches, with commas between: {', '.join(BENCHES)}")
    parser.add_argument(
        "--life-seconds", type=int, default=600, help="how long the life bench puts a cluster under load"
    )
    given = parser.parse_args()
    wanted = [name for name in given.only.split(",") if name] or list(BENCHES)
    for name in wanted:
        if name not in BENCHES:
            parser.error(f"there is no bench {name!r}; expected: {', '.join(BENCHES)}")
    where = machine()
    if where["load_1min"] > 1:
        print(
            f"This machine is busy (load {where['load_1min']}): the figures will be worse than it is.\n",
            file=sys.stderr,
        )
    signal.signal(signal.SIGTERM, _terminated)
    found: dict[str, Any] = {}
    for name in wanted:
        began_s = time.perf_counter()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        found[name] = run_bench(name, *(("--seconds", str(given.life_seconds)) if name == "life" else ()))
        print(f"{time.perf_counter() - began_s:.0f} s", file=sys.stderr)
    rows = [judge(bar, found[bar.bench] or {}) for bar in BARS if bar.bench in wanted]
    print_table(rows)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": where, "rows": [row._asdict() for row in rows], "found": found}, indent=1))
    print(f"\nAll of it: {path.relative_to(ROOT)}")
    return int(any(row.verdict in ("short", "missing") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
