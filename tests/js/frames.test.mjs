import assert from "node:assert/strict";
import { test } from "node:test";

import { Frames } from "../../static/lab/draw/raf.js";

/** Frames over drawings that note when they are drawn; `frame(ms)` is the browser's next frame, if one was asked for. */
function stage(drawings) {
  let asked = null;
  globalThis.requestAnimationFrame = (callback) => ((asked = callback), 1);
  globalThis.cancelAnimationFrame = () => (asked = null);
  const drawn = [];
  for (const drawing of drawings) drawing.draw = () => void drawn.push(drawing.name);
  const player = { isBehind: false, moving: true, tick: () => player.moving, painted: () => {} };
  const frames = new Frames(player, drawings);
  const frame = (ms) => {
    const callback = asked;
    asked = null;
    drawn.length = 0;
    frames.wake();
    (callback ?? asked)?.(ms);
    return [...drawn];
  };
  return { frames, player, frame, isAsked: () => asked !== null };
}

test("paced drawings take turns, the one that has waited longest first", () => {
  const [slow, slower, always] = [{ name: "slow", pace_ms: 60 }, { name: "slower", pace_ms: 100 }, { name: "always" }];
  const all = [slow, slower, always];
  const { frames, frame } = stage(all);
  const dirty = () => all.forEach((one) => (one.dirty = true));
  /** @type {Record<string, number>} */
  const counts = { slow: 0, slower: 0, always: 0 };
  for (let n = 0; n < 30; n++) {
    dirty();
    const drawn = frame(1000 + n * 33);
    assert.equal(drawn.at(-1), "always");
    assert.ok(drawn.length <= 2, `${drawn} in one frame`);
    for (const name of drawn) counts[name]++;
  }
  frames.stop();
  assert.equal(counts.always, 30);
  assert.ok(counts.slow >= 12 && counts.slow <= 15, `slow: ${counts.slow} times in a second`);
  assert.ok(counts.slower >= 8 && counts.slower <= 10, `slower: ${counts.slower} times in a second`);
});

test("on a slow machine each of them is drawn", () => {
  const all = [{ name: "a", pace_ms: 60 }, { name: "b", pace_ms: 60 }];
  const { frames, frame } = stage(all);
  const seen = [];
  for (let n = 0; n < 6; n++) {
    all.forEach((one) => (one.dirty = true));
    seen.push(...frame(1000 + n * 200));
  }
  frames.stop();
  assert.equal(seen.filter((name) => name === "a").length, 3);
  assert.equal(seen.filter((name) => name === "b").length, 3);
});

test("a drawing without a pace is drawn at once, and a deferred one requests no frame", () => {
  const one = { name: "one", pace_ms: 500, dirty: true };
  const { frames, player, frame, isAsked } = stage([one]);
  assert.deepEqual(frame(1000), ["one"]);
  one.dirty = true;
  player.moving = false;
  assert.deepEqual(frame(1033), []);
  assert.equal(isAsked(), false);
  one.pace_ms = 0;
  assert.deepEqual(frame(1066), ["one"]);
  frames.stop();
});
