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
