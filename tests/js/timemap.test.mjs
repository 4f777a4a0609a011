import assert from "node:assert/strict";
import { test } from "node:test";

import {
  DELIVERY_MS, IDLE_MS, RATES, clockText, durationText, fractionOfRate, nextRate, pacedMs, rateAt, rateText, scale, secondsText,
  tickText, ticks,
} from "../../static/lab/core/player/timemap.js";

test("a scale is invertible", () => {
  const map = scale(36_400_000, 36_420_000, 88, 1088);
  assert.equal(map.x(36_410_000), 588);
  assert.equal(map.at(588), 36_410_000);
});

test("speeds lie on a logarithmic slider", () => {
  assert.equal(fractionOfRate(0.001), 0);
  assert.equal(fractionOfRate(100), 1);
  assert.ok(Math.abs(fractionOfRate(1) - 0.6) < 1e-9);
  for (const rate of RATES) assert.equal(rateAt(fractionOfRate(rate)), rate);
});

test("faster and slower stop at the ends", () => {
  assert.equal(nextRate(1, 1), 2);
  assert.equal(nextRate(1, -1), 0.5);
  assert.equal(nextRate(0.3, -1), 0.25);
  assert.equal(nextRate(100, 1), 100);
  assert.equal(nextRate(0.001, -1), 0.001);
  assert.equal(rateText(0.0025), "1/400×");
  assert.equal(rateText(20), "20×");
  assert.deepEqual(RATES.map(rateText).slice(-7), ["1×", "2×", "5×", "10×", "20×", "50×", "100×"]);
  // Rates of a pace by events.
  assert.equal(rateText(1.2297075), "1.2×");
  assert.equal(rateText(1 / 1195), "1/1200×");
});

test("event pacing gives a delivery its time and idle time little", () => {
  assert.equal(pacedMs(500, true, 1), DELIVERY_MS);
  assert.equal(pacedMs(0, true, 1), 0);
  assert.equal(pacedMs(60_000_000, false, 0.0025), IDLE_MS);
  assert.equal(pacedMs(100, false, 1), 0.1);
});

test("instants are formatted to the microsecond", () => {
  assert.equal(secondsText(36_413_100), "36.413100");
  assert.deepEqual(clockText(36_413_100), { clock: "00:36.413", micros: "100" });
  assert.deepEqual(clockText(3_723_000_009), { clock: "1:02:03.000", micros: "009" });
});

test("durations have a suitable unit", () => {
  assert.deepEqual([340, 6_000, 16_400_000, 720_000_000].map(durationText), ["340 µs", "6.0 ms", "16.4 s", "12 min"]);
});

test("ticks are round and not too many", () => {
  for (const [from, to] of [[36_400_000, 36_420_000], [0, 5], [0, 3_600_000_000], [12_345, 99_999]]) {
    const { step_us, ticks: list } = ticks(from, to, 8);
    assert.ok(list.length <= 9 && list.length >= 3, `${from}..${to}: ${list.length}`);
    assert.match(String(step_us), /^[125]0*$/);
    for (const tick of list) assert.ok(tick >= from && tick <= to && tick % step_us === 0);
  }
  assert.equal(tickText(36_404_000, 2_000), "36.404");
  assert.equal(tickText(36_000_000, 1_000_000), "36");
});
