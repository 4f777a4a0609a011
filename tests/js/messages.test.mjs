// Messages of the server: codes, rendered by a catalogue. tests/core/texts/test_texts.py asks the same of the server.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { decode, sentence } from "../../static/lab/core/events/codec.js";
import { parse, Texts } from "../../static/lab/core/texts.js";
import { texts } from "./texts.mjs";

const greetings = { "greeting.day": "a day", "greeting.hello": "hello {name}, for {why}", "greeting.n": "{n} days", "greeting.n.one": "{n} day" };
const en = new Texts(greetings, "en");
const zh = new Texts({ "greeting.day": "一天", "greeting.hello": "{name}，你好（{why}）", "greeting.n": "{n} 天" }, "zh-CN");

test("a code is parsed with its values", () => {
  assert.deepEqual(parse("greeting.day"), { id: "greeting.day", values: {} });
  assert.deepEqual(parse("greeting.hello?name=a%20%26%20%28b%29&why=(greeting.n?n=1)"),
    { id: "greeting.hello", values: { name: "a & (b)", why: { id: "greeting.n", values: { n: "1" } } } });
});

test("a text that is no code is shown unchanged", () => {
  const prose = ["", "kill", "the batch claims 90 bytes, 12 are left", "MESSAGE_TOO_LARGE", "greeting.day?", "greeting.hello?name=a b",
    "greeting.hello?name=(greeting.day", "greeting.hello?name=(a day)", "greeting.hello?name=%FF", "greeting.day: and more"];
  for (const said of prose) {
    assert.equal(parse(said), null);
    assert.equal(en.render(said), said);
  }
});

test("a message and nested messages are rendered in the language of the catalogue", () => {
  const code = "greeting.hello?name=c1&why=(greeting.day)";
  assert.equal(en.render(code), "hello c1, for a day");
  assert.equal(zh.render(code), "c1，你好（一天）");
  assert.equal(en.render("greeting.n?n=1"), "1 day");
  assert.equal(en.render("greeting.n?n=2"), "2 days");
  assert.equal(zh.render("greeting.n?n=1"), "1 天");
});

test("a message of another version is shown unchanged", () => {
  assert.equal(en.render("greeting.evening?n=1"), "greeting.evening?n=1");
  assert.equal(en.render("greeting.hello?name=c1&why=(greeting.evening)"), "greeting.hello?name=c1&why=(greeting.evening)");
});

test("braces in a value are no placeholders", () => {
  assert.equal(en.render("greeting.hello?name=%7Bwhy%7D&why=fun"), "hello {why}, for fun");
});

test("a missing text is a defect", () => {
  assert.throws(() => en.text("greeting.evening"), /no text for greeting\.evening in en/);
});

/** @param {string} kind @param {object} data */
const event = (kind, data) => ({ seq: 1, at_us: 0, node: "b1", cause: 0, kind, family: "", data });

test("an event is one sentence in one language, with the messages in its fields", () => {
  const repaired = event("LogRepaired", { replica: "t-0@b1", file: "a.log", repair: "cut", position: 5, length: 9, rule: "fault.batch_cut_off?left=12&size=90", digest: "" });
  assert.equal(sentence(repaired, texts.en), "t-0@b1: a.log truncated at byte 5: the batch has 90 bytes, but only 12 are left");
  assert.equal(sentence(repaired, texts.zh), "t-0@b1：a.log 在字节 5 处被截断：批次应有 90 字节，只剩 12 字节");
  const sent = event("RpcSent", { source: "b1", destination: "b2", label: "label.nothing_new" });
  assert.equal(sentence(sent, texts.zh), "b1 向 b2 发送 没有新消息");
});

test("labels use the singular for one, and do not change the names of APIs", () => {
  assert.equal(texts.en.render("label.topics?n=1"), "1 topic");
  assert.equal(texts.en.render("label.api_partitions?api=Fetch&n=3"), "Fetch 3 partitions");
  assert.equal(texts.zh.render("label.api_partitions?api=Fetch&n=3"), "Fetch 3 个分区");
  assert.equal(texts.zh.render("Produce orders-0"), "Produce orders-0");
});

test("an alarm of an old recording has its text in both languages", () => {
  const alarm = event("InvariantViolated", { invariant: "I-COMMIT", subject: "t-0", detail: "offset 1 was committed", detail_zh: "位移 1 已提交" });
  assert.match(sentence(alarm, texts.en), /offset 1 was committed$/);
  assert.match(sentence(alarm, texts.zh), /位移 1 已提交$/);
});

test("every event of an old recording is a sentence with its text", () => {
  const lines = readFileSync(new URL("../data/journals/prose.jsonl", import.meta.url), "utf-8").trim().split("\n");
  const events = lines.map((line, at) => decode([at + 1, ...JSON.parse(line), []]));
  for (const { kind, data } of events)
    for (const language of [texts.en, texts.zh]) assert.doesNotMatch(sentence({ kind, data }, language), /undefined|event\.[A-Z]/);
  const held = events.find(({ kind }) => kind === "RpcHeld");
  assert.match(sentence(held, texts.en), /blocked: the link is cut$/);
  assert.match(sentence(held, texts.zh), /受阻：the link is cut$/);
});
