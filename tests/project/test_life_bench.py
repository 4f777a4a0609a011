"""The life bench at a fraction of its length: it works, and no record is lost. Its times are judged by `make bench`."""

from benchmarks.bars import BARS, judge
from benchmarks.life_bench import measure
from benchmarks.loads.life_load import RECORDS_PER_TRANSACTION


def test_life_bench_measures_every_figure_and_loses_no_record() -> None:
    found = measure(seconds=8, topics=10, rate=100, idle_seconds=2)
    assert {judge(bar, found).verdict for bar in BARS if bar.bench == "life"} <= {"ok", "short", "reported"}
    assert found["failures"] == [] and found["lost"] == 0
    assert found["committed"] >= 2 * RECORDS_PER_TRANSACTION and found["topics"] >= 1
    assert found["bounded_disk_ratio"] < 1.2
