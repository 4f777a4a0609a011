"""The rows of a wall of labs."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.runtime.classes.handouts import copy_handout, handout_folder, make_handout
from lab.runtime.classes.tiles import Tiles
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from tests.support.labs import play, set_mode, submit
from tests.support.recorded_runs import CONFIG, TOPIC

NAME = ("r1", "main")


def advance(us: int) -> Any:
    return lambda live: live.run.advance(live.run.now_us + us)


async def paused_lab(host: Host, run: str = "r1") -> Lab:
    """A lab with a topic of three partitions and ten records, paused."""
    lab = await host.start(run, "main", CONFIG)
    await lab.act(set_mode("pause"))
    for line in (TOPIC, "producer open p1 --acks all", "producer send p1 orders-1 a b c d e f g h i j"):
        await lab.act(submit(line))
        await lab.act(advance(2_000_000))
    return lab


def test_row_has_roles_offsets_and_mode(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await paused_lab(host)
        tiles = Tiles(host)
        tiles.show(NAME, "orders-1")
        row = (await tiles.sweep())[NAME]
        assert (row.mode, row.partition) == ("pause", "orders-1")
        assert sorted(replica.role for replica in row.replicas) == ["i", "i", "l"]
        assert {(one.first, one.end, one.high_watermark, one.cut) for one in row.replicas} == {(0, 10, 10, None)}
        leader = next(replica.broker for replica in row.replicas if replica.role == "l")
        await lab.act(submit(f"broker kill {leader}"))
        await lab.act(advance(20_000_000))
        row = (await tiles.sweep())[NAME]
        assert {one.broker: one.role for one in row.replicas}[leader] == "x"
        assert [one.role for one in row.replicas].count("l") == 1
        assert len(msgspec.json.encode(row)) <= 130

    play(tmp_path, scene)


def test_lab_in_which_nothing_happened_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = Lab.read

    async def counting(lab: Lab, job: Any) -> Any:
        reads.append(lab.recording.folder.run)
        return await read(lab, job)

    monkeypatch.setattr(Lab, "read", counting)

    async def scene(host: Host) -> None:
        labs = [await paused_lab(host, run) for run in ("r1", "r2", "r3")]
        tiles = Tiles(host)
        for run in ("r1", "r2", "r3"):
            tiles.show((run, "main"))
        assert len(await tiles.sweep()) == 3
        reads.clear()
        assert await tiles.sweep() == {} and reads == []
        await labs[1].act(advance(1_000_000))
        assert set(await tiles.sweep()) == {("r2", "main")} and reads == ["r2"]
        tiles.hide(("r2", "main"))
        await labs[1].act(advance(1_000_000))
        assert await tiles.sweep() == {}

    play(tmp_path, scene)


def test_sleeping_lab_has_a_row_and_is_not_woken(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await paused_lab(host)
        ends = {one.end for one in await _replicas(host)}
        await lab.sleep()
        tiles = Tiles(host)
        tiles.show(NAME, "orders-1")
        asleep = (await tiles.sweep())[NAME]
        assert asleep.mode == "asleep" and {one.end for one in asleep.replicas} == ends
        await host.close_run("r1")
        assert await tiles.sweep() == {}
        assert host.open_lab(*NAME) is None
        fresh = Tiles(host)
        fresh.show(NAME, "orders-1")
        assert (await fresh.sweep())[NAME] == asleep
        again = host.open_lab(*NAME)
        assert again is not None and again.core == "recorded"

    play(tmp_path, scene)


def test_unused_labs_of_a_handout_are_read_once_for_all(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await paused_lab(host)
        handout = handout_folder("kite", 1, data=tmp_path)
        await asyncio.to_thread(make_handout, lab.recording, lab.ring.last_seq, handout)
        copies = [(f"learner{number}", "main") for number in range(1, 9)]
        tiles = Tiles(host)
        for name in copies:
            copy_handout(handout, host.folder(*name))
            tiles.show(name, "orders-1")
        rows = await tiles.sweep()
        assert set(rows) == set(copies) and len({msgspec.json.encode(row) for row in rows.values()}) == 1
        assert rows[copies[0]].mode == "asleep" and {one.end for one in rows[copies[0]].replicas} == {10}
        assert sum(host.open_lab(*name) is not None for name in copies) == 1
        used = await host.lab(*copies[4])
        await used.act(submit("producer open p2 --acks all"))
        await used.act(submit("producer send p2 orders-1 k"))
        await used.act(advance(2_000_000))
        changed = await tiles.sweep()
        assert set(changed) == {copies[4]} and {one.end for one in changed[copies[4]].replicas} == {11}
        await host.close_run(copies[4][0])
        fresh = Tiles(host)
        for name in copies:
            fresh.show(name, "orders-1")
        ends = {name: {one.end for one in row.replicas} for name, row in (await fresh.sweep()).items()}
        assert ends == {name: {11 if name == copies[4] else 10} for name in copies}

    play(tmp_path, scene)


def test_labs_that_are_hidden_during_a_sweep_leave_the_others_their_rows(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        for run in ("r1", "r2"):
            await paused_lab(host, run)
            await host.close_run(run)
        tiles = Tiles(host)
        for run in ("r1", "r2"):
            tiles.show((run, "main"), "orders-1")
        sweep = asyncio.create_task(tiles.sweep())
        await asyncio.sleep(0)
        tiles.hide(NAME)
        assert set(await sweep) == {("r2", "main")}
        tiles.show(NAME, "orders-1")
        assert set(await tiles.sweep()) == {NAME}

    play(tmp_path, scene)


async def _replicas(host: Host) -> list[Any]:
    tiles = Tiles(host)
    tiles.show(NAME, "orders-1")
    return (await tiles.sweep())[NAME].replicas


def test_cluster_without_a_topic_and_a_deleted_run_have_no_replicas(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(set_mode("pause"))
        tiles = Tiles(host)
        tiles.show(NAME)
        tiles.show(("r9", "main"))
        rows = await tiles.sweep()
        assert list(rows) == [NAME]
        assert rows[NAME].replicas == [] and rows[NAME].partition == ""

    play(tmp_path, scene)


def test_reading_a_row_has_no_effect(tmp_path: Path) -> None:
    """Nothing of the engine changes by it: the same events follow."""

    async def scene(host: Host) -> None:
        lab = await paused_lab(host)
        before = lab.ring.last_seq
        await _replicas(host)
        assert lab.ring.last_seq == before

        def state(live: LiveRun | None) -> int:
            assert live is not None
            return live.run.seq

        assert await lab.read(state) == before

    play(tmp_path, scene)
