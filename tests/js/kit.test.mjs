// The small parts that elements share: arrow keys in a group of choices, values kept by the browser, runs one at a time.
import assert from "node:assert/strict";
import { test } from "node:test";

import { nextChoice } from "../../static/lab/ui/kit/choices.js";
import { coalesced } from "../../static/lab/ui/kit/coalesced.js";
import { isListOfStrings, keep, kept } from "../../static/lab/ui/kit/kept.js";

const VALUES = ["first", "second", "third", "last"];

test("arrow keys move through the choices and wrap at both ends", () => {
  assert.equal(nextChoice(VALUES, "first", "ArrowDown"), "second");
  assert.equal(nextChoice(VALUES, "last", "ArrowRight"), "first");
  assert.equal(nextChoice(VALUES, "second", "ArrowUp"), "first");
  assert.equal(nextChoice(VALUES, "first", "ArrowLeft"), "last");
  assert.equal(nextChoice(VALUES, "first", "Enter"), undefined);
});

test("without a choice, the arrow keys begin at the first and the last one", () => {
  assert.equal(nextChoice(VALUES, "", "ArrowDown"), "first");
  assert.equal(nextChoice(VALUES, "", "ArrowUp"), "last");
});

/** A browser's storage. @param {Record<string, string>} values */
const storage = (values) => ({
  getItem: (name) => values[name] ?? null,
  setItem: (name, value) => {
    values[name] = value;
  },
});

test("a stored value is read back", () => {
  globalThis.localStorage = storage({});
  keep("names", ["a", "b"]);
  assert.deepEqual(kept("names", isListOfStrings, []), ["a", "b"]);
});

test("a value that is invalid, of another type or missing is ignored", () => {
  for (const text of ["[", '{"0": "a"}', "[1]", "null", ""]) {
    globalThis.localStorage = storage({ names: text });
    assert.deepEqual(kept("names", isListOfStrings, ["usual"]), ["usual"], text);
  }
  globalThis.localStorage = storage({});
  assert.deepEqual(kept("names", isListOfStrings, []), []);
});

test("a browser without storage causes no error", () => {
  const refuse = () => {
    throw new Error("denied");
  };
  globalThis.localStorage = { getItem: refuse, setItem: refuse };
  keep("names", ["a"]);
  assert.deepEqual(kept("names", isListOfStrings, []), []);
});

test("work that is requested while it runs is done once more", async () => {
  const ends = [];
  const run = coalesced(() => new Promise((resolve) => ends.push(resolve)), () => 0);
  const first = run();
  await Promise.all([run(), run()]);
  assert.equal(ends.length, 1, "one at a time");
  ends[0]();
  await first;
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(ends.length, 2, "what has changed meanwhile is taken in");
  ends[1]();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(ends.length, 2);
});
