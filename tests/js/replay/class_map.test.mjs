import assert from "node:assert/strict";
import { test } from "node:test";

import { ClassMap } from "../../../static/lab/core/replay/class_map.js";

const S = 1e6;
// A lab plays 400 times slower from 10 s on, is paused from 20 s on, is shown again from its start at 30 s, and another one leads at 50 s.
const map = new ClassMap([
  [0, -1, 0, 0, "pause", 0],
  [10 * S, 0, 5, 1000, "play", 2500],
  [20 * S, 0, 30, 26_000, "pause", 0],
  [30 * S, 0, 5, 1000, "play", 2500],
  [50 * S, 1, 3, 500, "pause", 0],
]);

test("an instant of the class belongs to the lab that was shown then", () => {
  assert.equal(map.labAt(5 * S), null);
  assert.deepEqual(map.labAt(14 * S), { lab: 0, seq: 5, at_us: 11_000, runs: true });
  assert.deepEqual(map.labAt(29 * S), { lab: 0, seq: 30, at_us: 26_000, runs: false });
  assert.equal(map.labAt(99 * S).lab, 1);
});

test("within a row the time of a lab advances, at most to that of the next row", () => {
  const early = new ClassMap([[0, 0, 1, 0, "play", S], [10 * S, 0, 9, 4 * S, "pause", 0]]);
  assert.equal(early.labAt(3 * S).at_us, 3 * S);
  assert.equal(early.labAt(9 * S).at_us, 4 * S);
  let before_us = -1;
  for (let at_us = 0; at_us < 12 * S; at_us += 333_333) {
    const { at_us: lab_us } = early.labAt(at_us);
    assert.ok(lab_us >= before_us);
    before_us = lab_us;
  }
});

test("of an instant that was shown twice the last before the playhead is used, else the first", () => {
  assert.equal(map.classAt(0, 11_000), 34 * S);
  assert.equal(map.classAt(0, 11_000, 33 * S), 14 * S);
  assert.equal(map.classAt(0, 11_000, 35 * S), 34 * S);
  assert.equal(map.classAt(0, 11_000, 0), 14 * S);
});

test("an event that was never shown has no instant", () => {
  assert.equal(map.classAt(0, 500), null);
  assert.equal(map.classAt(1, 9000), null);
  assert.equal(map.classAt(7, 500), null);
});

test("instants of class and lab are inverse", () => {
  for (const at_us of [10 * S, 12.5 * S, 19 * S, 33 * S, 49 * S]) {
    assert.equal(map.classAt(0, map.labAt(at_us).at_us, at_us), at_us);
  }
});

test("an event of a paused lab is at the instant at which it was reported, not at the first with that lab's instant", () => {
  const standing = new ClassMap([
    [10 * S, 0, 5, 1000, "play", 1000],
    [20 * S, 0, 30, 11_000, "pause", 0],
    [25 * S, 0, 34, 11_000, "pause", 0],
  ]);
  assert.equal(standing.classOf(0, 32, 11_000), 25 * S);
  assert.equal(standing.classOf(0, 20, 6000), 15 * S);
  assert.equal(standing.classOf(0, 35, 12_000), null);
  assert.equal(standing.classOf(1, 1, 0), null);
});
