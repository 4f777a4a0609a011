import assert from "node:assert/strict";
import { test } from "node:test";

import { advance, IDLE_SHOWN_US, idleOf, saved, spanAt, without } from "../../../static/lab/core/replay/spans.js";

const S = 1e6;

test("spans are subtracted from other spans", () => {
  assert.deepEqual(without([[0, 10], [20, 30]], [[2, 4], [8, 22], [29, 40]]), [[0, 2], [4, 8], [22, 29]]);
  assert.deepEqual(without([[0, 10]], []), [[0, 10]]);
  assert.deepEqual(without([[3, 5]], [[0, 10]]), []);
});

test("a span without speech for more than two seconds is idle", () => {
  const quiet = [[0, 10 * S], [20 * S, 21 * S]];
  assert.deepEqual(idleOf(quiet, [[3 * S, 4 * S]], []), [[0, 3 * S], [4 * S, 10 * S]]);
  assert.deepEqual(idleOf(quiet, [[2 * S, 9 * S]], []), []);
  assert.deepEqual(idleOf(quiet, [], [[0, 9 * S]]), []);
});

test("skipping saves what an idle span takes beyond half a second", () => {
  assert.equal(saved([[0, 10 * S], [20 * S, 23 * S]]), 13 * S - 2 * IDLE_SHOWN_US);
  const idle = [[10 * S, 20 * S]];
  const how = { speed: 1, idle, off: [] };
  // 30 s of class take what is left of them, in steps of any size.
  for (const step_us of [16_667, 250_000, 7 * S]) {
    let [at_us, passed_us] = [0, 0];
    while (at_us < 30 * S) {
      at_us = advance(at_us, step_us, how);
      passed_us += step_us;
    }
    const left_us = 30 * S - saved(idle);
    assert.ok(passed_us >= left_us && passed_us < left_us + step_us + 1, `${passed_us} of ${left_us} in steps of ${step_us}`);
  }
});

test("time advances at its speed, and skips what is off the record", () => {
  const how = { speed: 4, idle: [], off: [[10 * S, 20 * S]] };
  assert.equal(advance(0, S, how), 4 * S);
  assert.equal(advance(9 * S, S, how), 23 * S);
  assert.equal(advance(12 * S, 0, how), 20 * S);
  assert.equal(advance(9 * S, 250_000, how), 20 * S);
});

test("an idle span does not take longer at a higher speed", () => {
  const how = { speed: 4, idle: [[0, 1000 * S]], off: [] };
  assert.ok(advance(0, IDLE_SHOWN_US + 1, how) >= 1000 * S);
});

test("a span includes its start and excludes its end", () => {
  assert.deepEqual(spanAt([[1, 2], [4, 6]], 4), [4, 6]);
  assert.equal(spanAt([[1, 2], [4, 6]], 2), null);
  assert.equal(spanAt([], 2), null);
});

test("acceptance statement 22: at every speed skipping saves what it says, and captions, chapters and notes are at their instants", () => {
  const length_us = 300 * S;
  const idle = [[10 * S, 20 * S], [40 * S, 100 * S], [150 * S, 152.5 * S]];
  const off = [[120 * S, 130 * S]];
  const cues = [[0.5 * S, 1.4 * S], [21 * S, 22 * S], [101 * S, 101.9 * S], [131 * S, 135 * S], [299 * S, 299.9 * S]];
  const instants = [0.2 * S, 20.5 * S, 39.9 * S, 100.1 * S, 140 * S, 299.5 * S];
  const idle_us = idle.reduce((sum, [from_us, to_us]) => sum + to_us - from_us, 0);
  const frame_us = 1e6 / 60;
  for (const speed of [0.5, 1, 1.5, 2, 4]) {
    let [at_us, passed_us] = [0, 0];
    const frames = [0];
    while (at_us < length_us) {
      at_us = advance(at_us, frame_us, { speed, idle, off });
      passed_us += frame_us;
      frames.push(at_us);
    }
    const whole_us = (length_us - 10 * S) / speed;
    const told_us = saved(idle) / speed + idle.length * (IDLE_SHOWN_US / speed - IDLE_SHOWN_US);
    assert.ok(Math.abs(whole_us - passed_us - told_us) < S, `${speed}: ${whole_us - passed_us} saved, ${told_us} told`);
    assert.ok(told_us > idle_us / speed - 2 * S);
    for (const [from_us, to_us] of cues) assert.ok(frames.some((one) => one >= from_us && one < to_us), `${speed}: caption at ${from_us}`);
    // What is at an instant is shown with the first frame after it.
    for (const one of instants) {
      const first_us = frames.find((frame) => frame >= one);
      assert.ok(first_us - one <= speed * frame_us + 1, `${speed}: ${one} at ${first_us}`);
    }
    assert.ok(!frames.some((one) => spanAt(off, one)), "nothing off the record is shown");
  }
});
