import assert from "node:assert/strict";
import { test } from "node:test";

import { rangesOf, rangesText, sameSight, windowOf, windowText } from "../../static/lab/core/player/page_view.js";
import { layoutStrips, rangesOf as inSight } from "../../static/lab/core/layout/strips.js";
import { DETACHING, HARMLESS, detaches, onSteer, steer } from "../../static/lab/ui/store/interactions.js";

const WIDTHS = { 1440: 781, 1024: 738, 390: 388 };

/** A view with partitions whose logs end at the given offsets. */
function viewOf(ends, topic = "orders") {
  const view = { topics: { [topic]: {} }, partitions: {}, replicas: {}, nodes: { b1: { kind: "broker", state: "up" } }, zk: {} };
  ends.forEach((end, n) => {
    const id = `${topic}-${n}`;
    view.partitions[id] = { topic, leader: 1, leader_epoch: 0, isr: [1], replicas: [1] };
    view.replicas[`${id}@b1`] = { partition: id, node: "b1", broker_id: 1, role: "leader", log_start_offset: 0, log_end_offset: end,
      high_watermark: end, epochs: [[0, 0]], remotes: {}, tail: {}, cut: null, flushed: end };
  });
  return view;
}

const layout = (view, width, camera = {}) =>
  layoutStrips(view, 0, { width, topic: "orders", camera: { first: {}, open: null, small: false, ...camera } });

/** Deterministic numbers below n. */
function dice(seed) {
  let state = seed;
  return (n) => ((state = (state * 1103515245 + 12345) % 2147483648) >> 8) % n;
}

test("what a presenter sees is visible at every width", () => {
  const roll = dice(7);
  for (let round = 0; round < 400; round++) {
    const view = viewOf([roll(300), roll(30), roll(3000)].slice(0, 1 + roll(3)));
    const first = Object.fromEntries(Object.keys(view.partitions).filter(() => roll(2)).map((id) => [id, roll(300)]));
    const [from, to] = [Object.values(WIDTHS)[roll(3)], Object.values(WIDTHS)[roll(3)]];
    const seen = inSight(layout(view, from, { first, small: roll(3) === 0 }));
    const followed = layout(view, to, { fit: seen, most: "orders-0" });
    const here = inSight(followed);
    for (const [id, [a, b]] of Object.entries(seen)) {
      assert.ok(here[id][0] <= a && here[id][1] >= b, `${id} ${seen[id]} in ${here[id]}, ${from} px to ${to} px`);
    }
    assert.ok(followed.pitch * followed.slots <= to, "cells stay beside the columns");
  }
});

test("if not everything fits, the selected partition is shown, and the others show their ends", () => {
  const view = viewOf([400, 400]);
  const fit = { "orders-0": [0, 299], "orders-1": [100, 111] };
  const { partitions, slots, pitch } = layout(view, WIDTHS[390], { fit, most: "orders-1" });
  assert.ok(pitch > 10);
  assert.equal(partitions[1].first + slots - 1, 111);
  assert.equal(partitions[0].first + slots - 1, 299);
});

test("ranges and windows are stored in an address; invalid ones are left out", () => {
  const ranges = { "my.topic-2-10": [0, 21], "orders-0": [24, 45] };
  assert.deepEqual(rangesOf(rangesText(ranges)), ranges);
  assert.deepEqual(windowOf(windowText([36_400_000, 36_420_000.4])), [36_400_000, 36_420_000]);
  for (const bad of [null, "", "orders-0", "orders-0:5-2", "orders-0:-1-4", "<b>-0:1-2", "orders-0:1-99999999999999999999"])
    assert.deepEqual(rangesOf(bad), {}, bad);
  for (const bad of [null, "", "1", "5-2", "a-b", "-3-4"]) assert.equal(windowOf(bad), null, bad);
});

test("a view that differs only in time shows nothing new", () => {
  const view = { ranges: { "orders-0": [0, 21] }, window: [0, 9], partition: "orders-0", seq: 1 };
  assert.ok(sameSight(view, { ...view, seq: 2 }));
  assert.ok(!sameSight(view, { ...view, window: [1, 9] }));
  assert.ok(!sameSight(null, view));
});

test("acceptance statement 11: 14 of 33 interactions detach a follower", () => {
  assert.equal(DETACHING.length, 14);
  assert.equal(HARMLESS.length, 19);
  assert.equal(new Set([...DETACHING, ...HARMLESS]).size, 33);
  assert.deepEqual(DETACHING.map(detaches), DETACHING.map(() => true));
  assert.deepEqual(HARMLESS.map(detaches), HARMLESS.map(() => false));
});

test("without a handler everything is allowed; with one, it decides", () => {
  assert.ok([...DETACHING, ...HARMLESS].every((one) => steer(one)));
  const left = [];
  const end = onSteer((one) => {
    if (detaches(one)) left.push(one);
    return !detaches(one);
  });
  assert.deepEqual([...DETACHING, ...HARMLESS].filter((one) => steer(one)), [...HARMLESS]);
  assert.deepEqual(left, [...DETACHING]);
  end();
  assert.ok(DETACHING.every((one) => steer(one)));
});

// The drawings ask for these as soon as they are loaded.
globalThis.matchMedia = () => ({ matches: false, addEventListener: () => {} });
globalThis.document = { documentElement: { currentCSSZoom: 1 } };
const { common, frameOfInstant, instantAt, partsOf, placeIn } = await import("../../static/lab/draw/anchors.js");

const FRAME = { x: 100, y: 50, w: 400, h: 200 };
const framed = (x, y) => ({ box: { x, y, w: 20, h: 20 }, frame: FRAME });

test("a visible pointer is at the same part of its element, wherever the element is", () => {
  const { u, v } = partsOf({ x: 10, y: 10, w: 40, h: 20 }, 30, 15);
  assert.deepEqual({ u, v }, { u: 0.5, v: 0.25 });
  assert.deepEqual(placeIn(framed(200, 100), u, v), { x: 210, y: 105, out: "" });
  assert.deepEqual(partsOf({ x: 0, y: 0, w: 10, h: 0 }, 99, 5), { u: 1, v: 0.5 });
});

test("a pointer at an invisible element is drawn at the edge, with the direction to it", () => {
  for (const [x, y, out] of [[0, 100, "left"], [900, 100, "right"], [200, 0, "up"], [200, 900, "down"], [-50, -50, "left"]]) {
    const place = placeIn(framed(x, y), 0.5, 0.5);
    assert.equal(place.out, out);
    assert.ok(place.x >= FRAME.x && place.x <= FRAME.x + FRAME.w && place.y >= FRAME.y && place.y <= FRAME.y + FRAME.h, out);
  }
  assert.deepEqual(common(FRAME, { x: 0, y: 0, w: 150, h: 60 }), { x: 100, y: 50, w: 50, h: 10 });
  assert.equal(common(FRAME, { x: 600, y: 0, w: 10, h: 10 }).w, 0);
});

test("an instant on a lane is found on a page of another width", () => {
  const plan = (width, left, lane_h) => ({ width, window: { from_us: 1_000_000, span_us: 20_000 },
    lanes: ["p1", "b1", "b2"].map((id, i) => ({ id, y: 30 + i * lane_h })),
    canvas: { getBoundingClientRect: () => ({ left, top: 600, width, height: 160 }) } });
  const [wide, phone] = [plan(1380, 48, 23), plan(388, 0, 12)];
  const anchor = instantAt(wide, 700, 654);
  assert.equal(anchor.id, "b1");
  const { box, frame } = frameOfInstant(phone, anchor.id, anchor.at_us);
  const there = instantAt(phone, box.x, box.y + box.h / 2);
  assert.equal(there.id, "b1");
  assert.ok(Math.abs(there.at_us - anchor.at_us) <= 1);
  assert.ok(box.x > frame.x && box.x < frame.x + frame.w);
  assert.equal(frameOfInstant(wide, "b9", 1), null);
});
