import assert from "node:assert/strict";
import { test } from "node:test";

import { densityBars, densityScale, placeMarks } from "../../static/lab/core/layout/density.js";
import { closeSpan, LABEL_W, layoutLanes, spanOf, windowFor } from "../../static/lab/core/layout/spacetime.js";
import { CUT_SHOWN_US, boundaryX, cellState, layoutStrips, offsetAt, offsetX, summary } from "../../static/lab/core/layout/strips.js";
import { MIN_W, centre, layoutTopology, progress, topologyHeight, track } from "../../static/lab/core/layout/topology.js";
import { events, index, viewAt } from "./recording.mjs";

const END = events.length;

/** A view with brokers, producers and consumers and nothing else. */
function cluster(brokers, producers = 1, consumers = 1) {
  const nodes = { zk: { kind: "zookeeper", state: "up" }, shell: { kind: "shell", state: "up" } };
  for (let i = 1; i <= brokers; i++) nodes[`b${i}`] = { kind: "broker", broker_id: i, state: "up" };
  for (let i = 1; i <= producers; i++) nodes[`p${i}`] = { kind: "producer", state: "up" };
  for (let i = 1; i <= consumers; i++) nodes[`c${i}`] = { kind: "consumer", state: "up" };
  return { nodes };
}

const overlap = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

// --- topology ----------------------------------------------------------------------------------------------------

for (let brokers = 1; brokers <= 7; brokers++)
  test(`${brokers} brokers and their clients lie side by side, inside the picture`, () => {
    for (const width of [350, 390, 540, MIN_W, 784, 1100])
      for (const clients of [0, 1, 3, 6]) {
        const layout = layoutTopology(cluster(brokers, clients, clients), width, topologyHeight(brokers, width));
        const boxes = [...layout.nodes];
        assert.equal(boxes.length, brokers + 2 * clients + 2);
        for (const [id, box] of boxes) {
          assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.w <= width && box.y + box.h <= layout.height, `${id} at ${width}`);
          for (const [other, place] of boxes) if (other > id) assert.ok(!overlap(box, place), `${id} and ${other}, ${clients} clients, ${width} wide`);
        }
      }
  });

test("ZooKeeper keeps a distance from the brokers beside it", () => {
  for (const width of [MIN_W, 784, 1100]) {
    const { nodes } = layoutTopology(cluster(3), width, topologyHeight(3, width));
    const [b1, b3, zk] = ["b1", "b3", "zk"].map((id) => nodes.get(id));
    assert.ok(zk.x - b1.x - b1.w >= 8 && b3.x - zk.x - zk.w >= 8 && zk.w > 100, `${width} wide: ${JSON.stringify(zk)}`);
  }
});

test("ZooKeeper has the width of its label where the brokers leave no room", () => {
  for (const width of [350, 600, MIN_W, 1100])
    for (let brokers = 1; brokers <= 7; brokers++)
      for (const height of [150, topologyHeight(brokers, width)]) {
        const zk = layoutTopology(cluster(brokers), width, height).nodes.get("zk");
        assert.ok(zk.w >= 84 && zk.x >= 0 && zk.x + zk.w <= width, `${brokers} brokers, ${width} x ${height}: ${JSON.stringify(zk)}`);
      }
});

test("every pair of communicating nodes has one link", () => {
  const { links } = layoutTopology(cluster(3, 1, 1), 784, 208);
  const count = (kind) => links.filter((link) => link.kind === kind).length;
  assert.deepEqual([count("broker"), count("zk"), count("client"), count("shell")], [3, 3, 6, 3]);
  assert.equal(new Set(links.map(({ id }) => id)).size, links.length);
  assert.ok(links.some(({ id }) => id === "b1|b3"));
});

test("the two directions of a link have tracks that do not meet", () => {
  const layout = layoutTopology(cluster(3), 784, 208);
  const there = track(layout, "b1", "b3", 9);
  const back = track(layout, "b3", "b1", 9);
  assert.ok(Math.abs(there[0][1] - back[0][1]) > 17, "18 pixels lie between them");
  assert.ok(there[0][0] < there[1][0] && back[0][0] > back[1][0]);
  assert.equal(track(layout, "b1", "nobody", 9), null);
});

test("a track ends at the borders of its boxes", () => {
  const layout = layoutTopology(cluster(3), 784, 208);
  const [p] = track(layout, "b1", "b2", 0);
  const box = layout.nodes.get("b1");
  const [cx, cy] = centre(box);
  assert.ok(Math.abs(p[0] - cx) <= box.w / 2 + 3.01 && Math.abs(p[1] - cy) <= box.h / 2 + 3.01);
  assert.ok(Math.abs(p[0] - cx) >= box.w / 2 - 0.01 || Math.abs(p[1] - cy) >= box.h / 2 - 0.01);
});

test("a message's place is a function of when it was sent and when it is due", () => {
  const rpc = { sent_us: 1000, due_us: 2000, held: "" };
  assert.deepEqual([900, 1000, 1500, 2000, 2500].map((at) => progress(rpc, at, false)), [0, 0, 0.5, 1, 1]);
  assert.ok(progress({ ...rpc, held: "the link is cut" }, 9000, true) < 0.5);
  assert.ok(progress({ ...rpc, held: "frozen" }, 9000, false) > 0.9);
});

// --- strips ------------------------------------------------------------------------------------------------------

const camera = () => ({ first: {}, open: null, small: false });
const replica = (more) => ({ log_start_offset: 0, log_end_offset: 5, high_watermark: 3, epochs: [[0, 0]], cut: null, remotes: {}, ...more });

test("the state of a cell is derived from log start, high watermark, log end and truncation", () => {
  const one = { replica: replica({ log_start_offset: 1, cut: { from: 8, to: 5, at_us: 1000, why: "" } }), end: 5 };
  assert.deepEqual([0, 1, 2, 3, 4, 5, 7, 8].map((offset) => cellState(one, offset, 2000)),
    ["deleted", "committed", "committed", "open", "open", "truncated", "truncated", "free"]);
  assert.equal(cellState(one, 5, 1000 + CUT_SHOWN_US), "free", "what was cut is shown for a while only");
  assert.equal(cellState({ replica: undefined, end: 0 }, 0, 0), "free");
});

test("strips of a broker that is down show the contents of its files: all after a kill, what was fsynced after a power loss", () => {
  const lane = (state, tail, flushed) => {
    const view = { nodes: { b1: { kind: "broker", broker_id: 1, state } },
      partitions: { "t-0": { topic: "t", partition: 0, replicas: [1], leader: 1, isr: [1] } },
      replicas: { "t-0@b1": replica({ node: "b1", partition: "t-0", high_watermark: 5, tail, flushed }) } };
    return layoutStrips(view, 0, { width: 784, topic: "t", camera: camera() }).partitions[0].lanes[0];
  };
  const written = { 0: [1, 0, 0, 0, 100], 2: [4, 0, 0, 100, 90] };
  const shown = (one) => [0, 1, 2, 4, 5].map((offset) => cellState(one, offset, 0));
  const all = ["committed", "committed", "committed", "committed", "free"];
  assert.deepEqual(shown(lane("up", written, 0)), all);
  assert.deepEqual(shown(lane("down", written, 0)), all, "the page cache outlives the process");
  const cut = lane("down", { 0: written[0] }, 0);
  assert.equal(cut.end, 2);
  assert.deepEqual(shown(cut), ["committed", "committed", "truncated", "truncated", "free"]);
  assert.deepEqual(shown(lane("down", {}, 0)), ["truncated", "truncated", "truncated", "truncated", "free"]);
});

test("log end offset and high watermark have room for their digits", () => {
  const columns = (log_end_offset, width) => layoutStrips({
    nodes: { b1: { kind: "broker", broker_id: 1, state: "up" } },
    partitions: { "t-0": { topic: "t", partition: 0, replicas: [1], leader: 1, isr: [1] } },
    replicas: { "t-0@b1": replica({ node: "b1", partition: "t-0", tail: {}, flushed: 0, role: "leader", log_end_offset }) },
  }, 0, { width, topic: "t", camera: camera() });
  const room = ({ columns: { log_end, high_watermark } }) => high_watermark - log_end;
  for (const width of [380, 784]) {
    const [few, many] = [5, 1_234_567].map((end) => columns(end, width));
    assert.ok(room(many) >= 7 * 6.6, `${width}: ${room(many)}`);
    assert.ok(room(few) < room(many) && few.slots > many.slots);
    assert.ok(many.x0 + many.slots * many.pitch < many.columns.log_end - 7 * 6.6, "cells end before the numbers");
  }
});

test("the text of the strips contains the lag of a follower that lost records in a power loss", () => {
  const node = (broker_id, state) => ({ kind: "broker", broker_id, state });
  const one = (id, more) => replica({ node: `b${id}`, partition: "t-0", tail: {}, flushed: 0, ...more });
  const said = (leader, follower) => summary({
    nodes: { b1: node(1, leader), b2: node(2, follower) },
    partitions: { "t-0": { topic: "t", partition: 0, replicas: [1, 2], leader: 1, isr: [1, 2] } },
    replicas: { "t-0@b1": one(1, { role: "leader" }), "t-0@b2": one(2, { role: "follower" }) },
  }, "t-0", (_, values) => [values?.leo, values?.n].join("")).split("; ").slice(0, 2).map((words) => words.trim());
  assert.deepEqual(said("up", "up"), ["5", "0"]);
  assert.deepEqual(said("up", "down"), ["5", "5"]);
  assert.deepEqual(said("down", "up"), ["0", "0"]);
});

test("the leader's lane is on top and all lanes of a partition share the axis", () => {
  const view = viewAt(END);
  const layout = layoutStrips(view, events[END - 1][1], { width: 784, topic: "orders", camera: camera() });
  assert.deepEqual(layout.partitions.map(({ id }) => id), ["orders-0", "orders-1"]);
  let y = 0;
  for (const place of layout.partitions) {
    const { leader, replicas } = view.partitions[place.id];
    assert.equal(place.lanes[0].broker_id, leader);
    assert.equal(place.lanes[0].role, "leader");
    assert.equal(place.lanes.length, replicas.length);
    assert.equal(place.y, y);
    place.lanes.reduce((bottom, lane) => (assert.ok(lane.y >= bottom), lane.y + lane.h), y);
    y += place.h;
  }
  assert.equal(layout.height, y);
});

test("positions and offsets are inverse, and an invisible boundary has no position", () => {
  const layout = layoutStrips(viewAt(END), 0, { width: 784, topic: "orders", camera: camera() });
  const [place] = layout.partitions;
  assert.equal(layout.slots, 22);
  for (let offset = place.first; offset < place.first + layout.slots; offset++)
    assert.equal(offsetAt(layout, place, offsetX(layout, place, offset) + 5), offset);
  assert.equal(boundaryX(layout, place, place.first - 1), null);
  assert.equal(boundaryX(layout, place, place.first + layout.slots + 1), null);
  assert.ok(boundaryX(layout, place, place.first) !== null);
});

/** A view with one partition of one long log. */
function longLog(end, start = 0) {
  return {
    nodes: { b1: { kind: "broker", state: "up" } }, topics: { t: {} },
    partitions: { "t-0": { topic: "t", partition: 0, replicas: [1], leader: 1, isr: [1], leader_epoch: 0 } },
    replicas: { "t-0@b1": replica({ role: "leader", log_start_offset: start, log_end_offset: end, high_watermark: end }) },
  };
}

test("the axis follows the log end, unless the user has scrolled away", () => {
  const at = (chosen, end = 100) => layoutStrips(longLog(end), 0, { width: 784, topic: "t", camera: chosen }).partitions[0];
  for (let end = 30; end < 200; end++) {
    const { first, following } = at(camera(), end);
    assert.ok(first + 22 >= end + 3 && first + 22 < end + 3 + 8, `${end} is near the right edge of ${first}`);
    assert.ok(following);
  }
  assert.equal(at(camera(), 100).first, at(camera(), 101).first, "cells do not move with every record");
  const pinned = { ...camera(), first: { "t-0": 10 } };
  assert.equal(at(pinned).first, 10);
  assert.equal(at(pinned).following, false);
  assert.equal(at({ ...camera(), first: { "t-0": 900 } }).following, true, "one cannot look beyond the end");
  assert.equal(at(camera(), 3).first, 0, "a short log begins at its beginning");
});

test("long logs get an overview, small cells show more", () => {
  const of = (end, chosen) => layoutStrips(longLog(end), 0, { width: 784, topic: "t", camera: chosen });
  assert.equal(of(200, camera()).partitions[0].overview, null);
  assert.deepEqual(of(201, camera()).partitions[0].overview.to, 201);
  assert.ok(of(100, { ...camera(), small: true }).slots > 2 * of(100, camera()).slots);
});

test("of many partitions only one is expanded", () => {
  const view = { nodes: {}, replicas: {}, partitions: {} };
  for (let i = 0; i < 12; i++) view.partitions[`t-${i}`] = { topic: "t", partition: i, replicas: [1], leader: -1, isr: [], leader_epoch: 0 };
  const of = (open) => layoutStrips(view, 0, { width: 784, topic: "t", camera: { ...camera(), open } }).partitions;
  assert.deepEqual(of("t-10").filter(({ open }) => open).map(({ id }) => id), ["t-10"]);
  assert.deepEqual(of(null).map(({ id }) => id).slice(0, 3), ["t-0", "t-1", "t-2"], "2 comes before 10");
});

test("on a phone labels and columns are narrower", () => {
  const layout = layoutStrips(viewAt(END), 0, { width: 390, topic: "orders", camera: camera() });
  assert.ok(layout.slots >= 10);
  assert.equal(layout.columns.bar, null);
});

// --- space-time --------------------------------------------------------------------------------------------------

test("the window's length depends on the speed, in round numbers", () => {
  for (const rate of [0.001, 0.0025, 0.05, 1, 20, 100]) assert.match(String(spanOf(rate)), /^[125]0*$/);
  assert.equal(spanOf(0.0025), 20_000);
});

test("after a step the window is as long as the last messages need", () => {
  const message = (sent_us, takes_us, held_us = Infinity) => ({ sent_us, due_us: sent_us + takes_us, end_us: sent_us + takes_us, held_us });
  assert.equal(closeSpan([], 1_000_000), 20_000);
  const quick = [0, 1_000, 2_000, 3_000, 4_000, 5_000].map((sent_us) => message(sent_us, 500));
  assert.equal(closeSpan([message(0, 9_000_000), ...quick], 9_000_000), 20_000, "an older slow one does not count");
  assert.equal(closeSpan([...quick, message(6_000, 2_000_000)], 2_006_000), 10_000_000);
  assert.equal(closeSpan([{ ...message(0, 9_000_000, 0), end_us: Infinity }], 5_000_000), 20_000, "nor one that is held");
});

test("the window does not move while paused with the playhead inside, and scrolls while running", () => {
  const first = windowFor(null, 1_000_000, 20_000, false);
  assert.equal(windowFor(first, 1_004_000, 20_000, false), first);
  const moved = windowFor(first, 1_007_000, 20_000, false);
  assert.notEqual(moved, first);
  const running = windowFor(first, 1_004_000, 20_000, true);
  assert.ok((1_004_000 - running.from_us) / 20_000 <= 0.6601);
  assert.notEqual(windowFor(first, 500_000, 20_000, false), first, "a jump back takes the window along");
});

test("lanes are in order and fit into the height", () => {
  const lanes = layoutLanes(cluster(3, 2, 1), 160);
  assert.deepEqual(lanes.map(({ id }) => id), ["p1", "p2", "b1", "b2", "b3", "zk", "shell", "c1"]);
  assert.ok(lanes.at(-1).y < 160);
});

// --- the whole run -----------------------------------------------------------------------------------------------

test("bars cover the run, and the one with the most events is the highest", () => {
  const map = densityScale(index.last_at_us, 1000);
  const bars = densityBars(index.density, map, 1000);
  const young = densityBars({ bucket_us: 250_000, counts: [40] }, densityScale(100_000, 1000), 1000, 100_000);
  const now_x = densityScale(100_000, 1000).x(100_000);
  assert.ok(young.every(({ x, part }) => part === 0 || x <= now_x), "no bar lies in the future");
  assert.equal(Math.max(...bars.map(({ part }) => part)), 1);
  assert.ok(bars.every(({ x, part }) => part === 0 || x <= map.x(index.last_at_us + index.density.bucket_us)));
  assert.ok(map.x(index.last_at_us) < 1000, "some future is left");
});

test("labels of marks do not overlap; the more severe mark has the label", () => {
  const marks = [
    { seq: 1, at_us: 500_000, kind: "IsrShrunk", values: {} },
    { seq: 2, at_us: 500_001, kind: "InvariantViolated", values: {} },
    { seq: 3, at_us: 500_002, kind: "BrokerStopped", values: {} },
  ];
  const places = placeMarks(marks, densityScale(1_000_000, 400), () => 100, 400);
  assert.equal(places[1].labelled, true);
  const extents = places.filter(({ labelled }) => labelled).map(({ x, flip }) => (flip ? [x - 108, x] : [x, x + 108]));
  for (const [i, [a, b]] of extents.entries()) for (const [c, d] of extents.slice(i + 1)) assert.ok(b <= c || d <= a);
  assert.ok(extents.every(([a, b]) => a >= LABEL_W && b <= 400));
});
