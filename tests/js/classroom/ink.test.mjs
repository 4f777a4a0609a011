import assert from "node:assert/strict";
import { test } from "node:test";

import { strokeOf, thinned } from "../../../static/lab/core/layout/ink.js";

const box = { x: 100, y: 200, w: 20, h: 40 };
/** A picture with one record at `box`, and an instant on a lane that has no width. */
const frameOf = ({ type }) => ({ box: type === "time" ? { x: 300, y: 50, w: 0, h: 24 } : box, frame: { x: 0, y: 0, w: 1000, h: 1000 } });
const spotAt = (x, y) => {
  if (x >= 100 && x <= 120 && y >= 200 && y <= 240) return { anchor: { type: "record", id: "orders-0@b1:4" }, u: 0, v: 0 };
  return y < 74 && y > 50 ? { anchor: { type: "time", id: "b1", at_us: 1500000 }, u: 0, v: 0 } : null;
};

test("a closed line is anchored to what it encloses, and may extend beyond its box", () => {
  const stroke = strokeOf([[90, 190], [130, 190], [130, 250], [90, 250], [90, 196]], spotAt, frameOf);
  assert.equal(stroke.anchor, "record:orders-0@b1:4");
  assert.deepEqual(stroke.points[0], [-500, -250]);
  assert.deepEqual(stroke.points[2], [1500, 1250]);
});

test("an arrow is anchored to the element at its end", () => {
  assert.equal(strokeOf([[310, 60], [200, 150], [110, 210]], spotAt, frameOf).anchor, "record:orders-0@b1:4");
});

test("an instant has no width: its height is the unit in both directions", () => {
  const stroke = strokeOf([[300, 60], [324, 60]], spotAt, frameOf);
  assert.equal(stroke.anchor, "time@1500000:b1");
  assert.deepEqual(stroke.points.map(([u]) => u), [0, 1000]);
});

test("a line without an anchor is no stroke", () => assert.equal(strokeOf([[500, 500], [600, 600]], spotAt, frameOf), null));

test("a long line is reduced to 200 points that include its ends", () => {
  const line = Array.from({ length: 3000 }, (_, i) => [i * 3, i % 7]);
  const kept = thinned(line);
  assert.equal(kept.length, 200);
  assert.deepEqual([kept[0], kept[199]], [line[0], line[2999]]);
});
