"""What was looked at and measured on the page of a branch."""

from pathlib import Path

from lab.recordings.folder import branch_folder
from lab.runtime.page_facts import MAX_FACTS, PageFact, PageFacts
from tests.support.lab_server import LabServer, Visitor

SEGMENT = "orders-0/00000000000000000000.log"


def test_facts_survive_the_process_and_are_counted_from_an_event(tmp_path: Path) -> None:
    folder = branch_folder("r", "main", runs=tmp_path)
    facts = PageFacts(folder)
    facts.note("file", f"b1/{SEGMENT}", 5)
    facts.note("zero copy", f"b1/{SEGMENT}", 9)
    again = PageFacts(folder)
    assert again.since(6) == (PageFact("zero copy", f"b1/{SEGMENT}", 9),)
    again.note("file", f"b1/{SEGMENT}", 12)
    assert [fact.seq for fact in PageFacts(folder).since(0)] == [9, 12]


def test_oldest_facts_go_when_there_are_too_many(tmp_path: Path) -> None:
    facts = PageFacts(branch_folder("r", "main", runs=tmp_path))
    for seq in range(MAX_FACTS + 10):
        facts.note("file", f"b1/x-{seq}/00000000000000000000.log", seq)
    assert [fact.seq for fact in facts.since(0)] == list(range(10, MAX_FACTS + 10))


def test_damaged_file_counts_as_no_facts(tmp_path: Path) -> None:
    folder = branch_folder("r", "main", runs=tmp_path)
    PageFacts(folder).note("file", "b1/x", 1)
    (folder.recording / "page-facts.json").write_bytes(b"[[")
    assert PageFacts(folder).since(0) == ()


def test_looks_and_measurements_of_the_page_are_noted(visitor: Visitor, lab_server: LabServer) -> None:
    run = visitor.new_run()
    with visitor.socket(run) as client:
        client.of_kind("snap")
        client.run("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
        client.run('wait "isr orders-0 == [1,2,3]" 30s')
        client.run("producer open p1")
        client.run("producer send p1 orders-0 a:1")
        client.ask({"k": "time", "op": "pause"})
    api = f"/api/runs/{run}/main"
    assert visitor.get(f"{api}/disk/page?broker=b1&path={SEGMENT}").status == 200
    assert visitor.get(f"{api}/disk/lookup?broker=b1&folder=orders-0&offset=0").status == 200
    assert visitor.get(f"{api}/decoded?replica=orders-0@b2&file=00000000000000000000.log").status == 200
    assert visitor.post_json(f"{api}/disk/zero-copy", {"broker": "b1", "path": SEGMENT}).status == 200
    assert visitor.get(f"{api}/disk/page?broker=b1&path=orders-0/none.log").status == 404

    async def noted(host):
        return [(fact.what, fact.subject) for fact in (await host.lab(run, "main")).page_facts.since(0)]

    assert lab_server.call(noted) == [
        ("file", f"b1/{SEGMENT}"),
        ("lookup", "b1/orders-0"),
        ("file", f"b2/{SEGMENT}"),
        ("zero copy", f"b1/{SEGMENT}"),
    ]
