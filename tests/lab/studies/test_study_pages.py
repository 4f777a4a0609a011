"""The shipped studies, and the pages that show what they found."""

import csv
import io
import re
from pathlib import Path

import msgspec
import pytest

from lab.analytics.figures.parts import Words
from lab.course.loader import course
from lab.studies.compiler import read_study
from lab.studies.figure import charts_of, csv_of
from lab.studies.shelf import SHIPPED
from lab.studies.summary import Found
from tests.support.lab_server import LabServer, Visitor

STUDIES = sorted((SHIPPED.parent / "content").glob("*.toml"))


def shipped(slug: str) -> Found:
    return msgspec.json.decode((SHIPPED / f"{slug}.json").read_bytes(), type=Found)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_shipped_result_is_that_of_its_file(path: Path):
    study, found = read_study(path), shipped(path.stem)
    assert (found.title, found.question, found.answer) == (study.title, study.question, study.answer)
    assert (found.axes, found.x, found.measures, found.seeds) == (study.axes, study.x, study.measures, len(study.seeds))
    assert all(point.runs == len(study.seeds) for point in found.points)
    assert found.answer is not None


def test_each_chapter_has_a_study():
    assert {shipped(path.stem).chapter for path in STUDIES} == {chapter.slug for chapter in course().chapters}


@pytest.mark.parametrize("language", ["en", "zh-CN"])
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_each_measure_has_a_chart_a_sentence_and_a_table(path: Path, language: str):
    found = shipped(path.stem)
    charts = charts_of(found, Words(language))
    assert [chart["measure"] for chart in charts] == list(found.measures)
    for chart in charts:
        drawn = [y for trace in chart["figure"]["data"] if "lines" in trace["mode"] or trace["marker"]["size"] > 1
                 for y in trace["y"]]  # fmt: skip
        median = chart["table"]["columns"].index("median")
        assert sorted(drawn) == sorted(row[median] for row in chart["table"]["rows"])
        assert "studies." not in chart["said"] + chart["title"] + chart["unit"]


def test_the_csv_has_all_rows():
    found = shipped("session-timeout-and-failover")
    rows = list(csv.DictReader(io.StringIO(csv_of(found))))
    assert len(rows) == len(found.points) * len(found.measures)
    gaps = {
        row["zookeeper.session.timeout.ms"]: float(row["median"]) for row in rows if row["measure"] == "longest_gap_ms"
    }
    # A killed broker is noticed when its session ends.
    assert all(int(timeout_ms) < gap_ms < int(timeout_ms) + 1_000 for timeout_ms, gap_ms in gaps.items())


def test_the_pages_list_and_show_studies(lab_server: LabServer):
    visitor = Visitor(lab_server).sign_in_as("reads-studies")
    listed = visitor.get("/studies/").text
    assert set(re.findall(r'href="/studies/([^/"]+)/"', listed)) >= {path.stem for path in STUDIES}
    for chapter in course().chapters:
        assert f'id="chapter-{chapter.number}"' in listed
    slug = "session-timeout-and-failover"
    assert shipped(slug).question.en in visitor.get(f"/studies/{slug}/").text
    assert len(visitor.get(f"/api/studies/{slug}.json").json["charts"]) == 3
    assert visitor.get(f"/api/studies/{slug}.csv").text.startswith("measure,")
    assert visitor.get("/studies/nothing/").status == 404
    assert Visitor(lab_server).get(f"/api/studies/{slug}.json").url.startswith(f"{lab_server.address}/sign-in/")
