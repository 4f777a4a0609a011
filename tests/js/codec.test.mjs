import assert from "node:assert/strict";
import { test } from "node:test";

import { decode, encode, fault, sentence } from "../../static/lab/core/events/codec.js";
import { KINDS, SCHEMA } from "../../static/lab/core/events/events.gen.js";
import { events } from "./recording.mjs";
import { texts } from "./texts.mjs";

const sample = (type) => {
  if (type === "int") return 7;
  if (type === "str") return "x";
  if (type === "bool") return true;
  const [shape, ...inner] = type;
  if (shape === "list") return [sample(inner[0]), sample(inner[0])];
  return shape === "tuple" ? inner.map(sample) : sample(inner[0]);
};

test("every kind is encoded and decoded without loss", () => {
  for (const [kind, { fields }] of Object.entries(KINDS)) {
    const wire = [3, 1000, "b1", 2, [kind, ...fields.map(([, type]) => sample(type))], [["/a/b", 1]]];
    assert.equal(fault(wire), null, kind);
    const event = decode(wire);
    assert.equal(event.kind, kind);
    assert.deepEqual(encode(event, wire[5]), wire);
  }
});

test("every recorded event fits the vocabulary", () => {
  for (const wire of events) assert.equal(fault(wire), null);
});

test("fields keep their names even if an envelope has the same ones", () => {
  const event = decode([1, 0, "b1", 0, ["RpcSent", "r1", "Fetch", "request", "b2", "b1", 5, 1, "Fetch @3", [["offset", 3]]], []]);
  assert.equal(event.kind, "RpcSent");
  assert.equal(event.data.kind, "request");
  assert.equal(sentence(event, texts.en), "b2 sent Fetch @3 to b1");
  assert.match(sentence(event, texts.zh), /b2 向 b1/);
});

test("sentences show acks and leader epochs in their usual form", () => {
  /** @param {unknown[]} event */
  const said = (event) => sentence(decode([1, 0, "b1", 0, event, []]), texts.en);
  const asked = ["ZooKeeperAsked", "b1", 2, [["exists", "/controller", "ok"], ["getData", "/a", "NoNode"]]];
  assert.equal(said(asked), "b1 sent requests to ZooKeeper (2): exists /controller ok, getData /a NoNode");
  assert.match(said(["ProduceStarted", "p1", "orders-0", 0, 1, -1, 70, "b1", 1, -1, -1, -1]), /acks=all$/);
  assert.match(said(["ProduceStarted", "p1", "orders-0", 0, 1, 1, 70, "b1", 1, -1, -1, -1]), /acks=1$/);
  assert.match(said(["LeaderEpochsChanged", "orders-0@b1", [[0, 0], [2, 25]]]), /leader epochs 0@0, 2@25 /);
  assert.match(said(["LeaderEpochsChanged", "orders-0@b1", []]), /leader epochs — /);
});

test("sentences have words for an offset, a key and a rule that are codes in the event", () => {
  /** @param {unknown[]} event */
  const said = (event) => sentence(decode([1, 0, "c1", 0, event, []]), texts.en);
  assert.match(said(["ConsumerPositionReset", "c1", "orders-0", -1, 0, "x"]), /reset from none to 0/);
  assert.match(said(["ConsumerPositionReset", "c1", "orders-0", 7, 0, "x"]), /reset from 7 to 0/);
  assert.match(said(["RecordPartitioned", "p1", "orders-0", null, "stays", null, 3]), /key null assigned to orders-0 \(sticky partition kept\)/);
});

test("an error names what is wrong with an event", () => {
  const good = [1, 0, "b1", 0, ["BrokerFrozen", "b1"], []];
  assert.equal(fault(good), null);
  assert.match(fault([1, 0, "b1", 0, ["Nonsense"], []]), /unknown kind Nonsense/);
  assert.match(fault([1, 0, "b1", 0, ["BrokerFrozen", 4], []]), /BrokerFrozen.broker is "str"; got 4/);
  assert.match(fault([1, 0, "b1", 0, ["BrokerFrozen"], []]), /1 fields; got 0/);
  assert.match(fault([1, 0.5, "b1", 0, ["BrokerFrozen", "b1"], []]), /integers/);
  assert.match(fault("x"), /array of six/);
  assert.throws(() => decode([1, 0, "b1", 0, ["Nonsense"], []]), /reload/);
});

test("the schema's hash is twelve hex digits", () => assert.match(SCHEMA, /^[0-9a-f]{12}$/));
