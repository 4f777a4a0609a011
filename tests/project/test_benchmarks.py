"""The benchmark's verdicts. What the benches themselves measure is not for a test to judge."""

import pytest

from benchmarks.__main__ import BENCHES, main
from benchmarks.bars import BARS, Bar, judge, show


@pytest.mark.parametrize(
    ("sense", "limit", "measured", "verdict"),
    [
        ("at least", 100, 100, "ok"),
        ("at least", 100, 99, "short"),
        ("at most", 20, 20, "ok"),
        ("at most", 20, 20.5, "short"),
        ("at most", None, 7, "told"),
    ],
)
def test_figure_is_compared_with_its_bar(sense, limit, measured, verdict) -> None:
    bar = Bar("server", "a figure", ("part", "figure"), "ms", sense, limit)
    row = judge(bar, {"part": {"figure": measured}})
    assert (row.verdict, row.measured) == (verdict, measured)


@pytest.mark.parametrize("found", [{}, {"part": {}}, {"part": []}, {"part": {"figure": "fast"}}])
def test_missing_figure_is_not_ok(found) -> None:
    assert judge(Bar("server", "a figure", ("part", "0"), "ms", "at most", 20), found).verdict == "missing"


def test_both_sides_of_a_ratio_are_shown() -> None:
    bar = Bar("engine", "late by early", ("ratio",), "", "at least", 0.9, (("late",), ("early",)))
    row = judge(bar, {"ratio": 0.95, "late": 95_000.0, "early": 100_000.0})
    assert row.sides == "95,000 / 100,000"
    assert row.bar == "≥ 0.9"


def test_figures_have_significant_digits() -> None:
    assert [show(figure) for figure in (0, 0.954, 3, 12.5, 123456.7)] == ["0", "0.95", "3", "12.5", "123,457"]


def test_no_figure_has_two_bars() -> None:
    judged = [(bar.bench, bar.name) for bar in BARS]
    assert len(judged) == len(set(judged))


def test_bench_that_does_not_exist_is_refused(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "--only", "warp"])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    said = capsys.readouterr().err
    assert "'warp'" in said and all(name in said for name in BENCHES)
