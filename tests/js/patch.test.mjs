import assert from "node:assert/strict";
import { test } from "node:test";

import { apply, at, keysOf, own } from "../../static/lab/core/view/patch.js";
import { events, segments } from "./recording.mjs";

test("a pointer's keys are unescaped", () => {
  assert.deepEqual(keysOf("/zk/~1brokers~1ids~01/data"), ["zk", "/brokers/ids~1", "data"]);
  assert.deepEqual(keysOf("/rpcs/r12"), ["rpcs", "r12"]);
});

test("a patch sets, replaces and removes, and its inverse undoes it", () => {
  const view = { a: { x: 1, gone: [1, 2] }, b: {} };
  const before = structuredClone(view);
  const inverse = apply(view, [["/a/x", 2], ["/a/new", { deep: 1 }], ["/a/new/deep", 2], ["/a/gone"], ["/b/y", null]]);
  assert.deepEqual(view, { a: { x: 2, new: { deep: 2 } }, b: { y: null } });
  assert.deepEqual(new Map(inverse.map(([pointer, value]) => [pointer, value])).get("/a/x"), 1);
  apply(view, inverse);
  assert.deepEqual(view, before);
});

test("removing a missing value changes nothing", () => {
  const view = { a: {} };
  assert.deepEqual(apply(view, [["/a/x"]]), []);
  assert.deepEqual(view, { a: {} });
});

test("a path through a missing value is refused", () => {
  assert.throws(() => apply({ a: {} }, [["/a/b/c", 1]]), RangeError);
  assert.throws(() => apply({ a: [1] }, [["/a/0/c", 1]]), /no object at \/a/);
});

test("a patch can be applied again after the view has changed its values", () => {
  const patch = [["/r", { leo: 1 }]];
  const view = {};
  apply(view, patch);
  apply(view, [["/r/leo", 2]]);
  const again = {};
  apply(again, patch);
  assert.equal(again.r.leo, 1);
});

test("`touched` names the things that were written", () => {
  const touched = new Set();
  apply({ rpcs: {}, controller: { broker: 1 } }, [["/rpcs/r1", { api: "Fetch" }], ["/rpcs/r1/held", "x"], ["/controller", { broker: 2 }]], touched);
  assert.deepEqual([...touched], ["rpcs/r1", "controller"]);
});

test("a value is read by its pointer", () => {
  assert.equal(at({ zk: { "/a": { version: 3 } } }, "/zk/~1a/version"), 3);
  assert.equal(at({ zk: {} }, "/zk/~1a/version"), undefined);
});

test("the recorded patches lead from keyframe to keyframe, and their inverses back", () => {
  assert.ok(segments.length > 2, `${events.length} events are too few to say anything`);
  segments.forEach((segment, i) => {
    const view = own(segment.state);
    const inverses = segment.ev.map((event) => apply(view, event[5]));
    if (segments[i + 1]) assert.deepEqual(view, segments[i + 1].state, `after segment ${i}`);
    for (const inverse of inverses.reverse()) apply(view, inverse);
    assert.deepEqual(view, segment.state, `back to the beginning of segment ${i}`);
  });
});
