// A poll of a lesson's prediction, in the language of the page.
import assert from "node:assert/strict";
import test from "node:test";
import { inLanguage } from "../../../static/lab/core/classroom/polls.js";

const POLL = { text: "Where?", lang: "en", choices: ["at 45", "at 46"], other: { lang: "zh-CN", text: "在哪里？", choices: ["在 45", "在 46"] } };

test("a prediction is shown in the language of the page", () => {
  const shown = inLanguage({ polls: { 1: POLL } }, "zh-CN").polls[1];
  assert.deepEqual([shown.text, shown.lang, shown.choices], ["在哪里？", "zh-CN", ["在 45", "在 46"]]);
  assert.deepEqual(inLanguage({ polls: { 1: POLL } }, "en").polls[1], POLL);
});

test("what staff ask in their own words keeps its language", () => {
  const own = { ...POLL, text: "And now?", other: { ...POLL.other, text: "" } };
  const shown = inLanguage({ polls: { 1: own } }, "zh-CN").polls[1];
  assert.deepEqual([shown.text, shown.lang, shown.choices], ["And now?", "en", ["在 45", "在 46"]]);
  const poll = { text: "Which?", lang: "en", choices: [] };
  assert.deepEqual(inLanguage({ polls: { 2: poll } }, "zh-CN").polls[2], poll);
});
