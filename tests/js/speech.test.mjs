import assert from "node:assert/strict";
import { test } from "node:test";

import { Speech, spoken } from "../../static/lab/core/speech.js";

/** A queue with a clock set by hand. */
function speech() {
  const [heard, timers] = [[], []];
  let ms = 0;
  const queue = new Speech({
    polite: (text) => heard.push(text), assertive: (text) => heard.push(`! ${text}`), now: () => ms,
    later: (todo, wait) => timers.push({ at: ms + wait, todo }),
  });
  const pass = (by) => {
    const until = ms + by;
    for (let next; (next = timers.sort((a, b) => a.at - b.at)[0]) && next.at <= until;) {
      ms = next.at;
      timers.shift().todo();
    }
    ms = until;
  };
  return { queue, heard, pass };
}

test("sentences are announced one after the other; of a topic only the newest waiting one", () => {
  const { queue, heard, pass } = speech();
  queue.say("step", "one");
  queue.say("follow", "Following Lin.");
  queue.say("step", "two");
  queue.say("step", "three");
  assert.deepEqual(heard, ["one"]);
  pass(5000);
  assert.deepEqual(heard, ["one", "Following Lin.", "three"]);
});

test("an urgent sentence is announced at once, and no other is lost", () => {
  const { queue, heard, pass } = speech();
  queue.say("a", "first");
  queue.say("b", "second");
  queue.interrupt("The recording is on.");
  pass(1000);
  assert.deepEqual(heard, ["first", "! The recording is on.", "second"]);
});

test("collected sentences are announced as one, at most once per interval", () => {
  const { queue, heard, pass } = speech();
  const manner = { every_ms: 5000, gather: (all) => `${all.length}: ${all.join(", ")}` };
  queue.say("hands", "p1", manner);
  for (const who of ["p2", "p3", "p4"]) queue.say("hands", who, manner);
  pass(4900);
  assert.deepEqual(heard, ["1: p1"]);
  pass(200);
  assert.deepEqual(heard, ["1: p1", "3: p2, p3, p4"]);
  queue.say("hands", "p5", manner);
  queue.forget("hands");
  pass(10_000);
  assert.equal(heard.length, 2);
});

test("a sentence that a region holds already is announced again", () => {
  assert.equal(spoken("", "Ada raised a hand."), "Ada raised a hand.");
  assert.notEqual(spoken("Ada raised a hand.", "Ada raised a hand."), "Ada raised a hand.");
});
