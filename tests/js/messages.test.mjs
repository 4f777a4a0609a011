// Messages of the server: codes, rendered by a catalogue. tests/core/texts/test_texts.py asks the same of the server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { parse, renderer } from "../../static/lab/core/texts.js";

const en = renderer({ "greeting.day": "a day", "greeting.hello": "hello {name}, for {why}", "greeting.n": "{n} days", "greeting.n.one": "{n} day" });
const zh = renderer({ "greeting.day": "一天", "greeting.hello": "{name}，你好（{why}）", "greeting.n": "{n} 天" });

test("a code is read with its values", () => {
  assert.deepEqual(parse("greeting.day"), { id: "greeting.day", values: {} });
  assert.deepEqual(parse("greeting.hello?name=a%20%26%20%28b%29&why=(greeting.n?n=1)"),
    { id: "greeting.hello", values: { name: "a & (b)", why: { id: "greeting.n", values: { n: "1" } } } });
});

test("what is no code is shown as it is", () => {
  const prose = ["", "kill", "the batch claims 90 bytes, 12 are left", "MESSAGE_TOO_LARGE", "greeting.day?", "greeting.hello?name=a b",
    "greeting.hello?name=(greeting.day", "greeting.hello?name=(a day)", "greeting.hello?name=%FF", "greeting.day: and more"];
  for (const said of prose) {
    assert.equal(parse(said), null);
    assert.equal(en(said), said);
  }
});

test("a message and those in it are rendered in the language of the catalogue", () => {
  const code = "greeting.hello?name=c1&why=(greeting.day)";
  assert.equal(en(code), "hello c1, for a day");
  assert.equal(zh(code), "c1，你好（一天）");
  assert.equal(en("greeting.n?n=1"), "1 day");
  assert.equal(en("greeting.n?n=2"), "2 days");
  assert.equal(zh("greeting.n?n=1"), "1 天");
});

test("a message of another version is shown as it is", () => {
  assert.equal(en("greeting.evening?n=1"), "greeting.evening?n=1");
  assert.equal(en("greeting.hello?name=c1&why=(greeting.evening)"), "greeting.hello?name=c1&why=(greeting.evening)");
});

test("braces in a value are no places", () => {
  assert.equal(en("greeting.hello?name=%7Bwhy%7D&why=fun"), "hello {why}, for fun");
});
