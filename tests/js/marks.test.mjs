// Marks on the whole run: the same whether the server finds them in a recording or the page in live events.

import assert from "node:assert/strict";
import { test } from "node:test";

import { extend, markWords, rankOf } from "../../static/lab/core/recording/marks.js";
import { events, index } from "./recording.mjs";
import { texts } from "./texts.mjs";

test("live events give the marks and the density that the recording has, in both languages", () => {
  const live = { ...structuredClone(index), last_seq: 0, last_at_us: 0, marks: [], density: { ...index.density, counts: [0] } };
  for (const event of events) extend(live, event);
  for (const language of [texts.en, texts.zh]) {
    const said = ({ marks }) => marks.map((mark) => [mark.seq, mark.at_us, mark.kind, markWords(mark, language)]);
    assert.deepEqual(said(live), said(index));
  }
  assert.ok(live.marks.length > 5);
  assert.deepEqual(live.density, index.density);
  assert.equal(live.last_seq, index.last_seq);
});

test("a mark names how a broker went down, in one language", () => {
  const mark = { seq: 1, at_us: 0, kind: "BrokerStopped", values: { broker: "b1", how: "power loss" } };
  assert.equal(markWords(mark, texts.en), "b1 stopped: power loss");
  assert.equal(markWords(mark, texts.zh), "b1 停止：断电");
});

test("a mark by a person has their name, and follows alarms", () => {
  const [alarm, own, stop] = ["InvariantViolated", "Bookmark", "BrokerStopped"].map((kind) => ({ seq: 1, at_us: 0, kind, values: { name: "here" } }));
  assert.equal(markWords(own, texts.zh), "here");
  assert.ok(rankOf(alarm) < rankOf(own) && rankOf(own) < rankOf(stop));
});
