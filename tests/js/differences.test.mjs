// The inspector's list of a step: which writes have a line, and what differs in them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { differing, isMeaningful } from "../../static/lab/core/view/differences.js";

const STATE = "/zk/~1brokers~1topics~1orders~1partitions~10~1state";
const znode = (data, version) => ({ data: JSON.stringify(data), previous: null, version, ephemeral: "", session: null });
const state = (more) => ({ controller_epoch: 1, leader: 1, version: 1, leader_epoch: 0, isr: [1, 2, 3], ...more });
const data = (value) => value.data;

test("a change of the JSON of a znode is described by the fields that differ", () => {
  const before = znode(state(), 0);
  const told = (more) => {
    const now = znode(state(more), 1);
    assert.ok(isMeaningful(STATE, before, now), JSON.stringify(more));
    return differing(before, now, data, 26);
  };
  assert.deepEqual(told({ isr: [1, 2] }), [["isr", [1, 2, 3], [1, 2]]]);
  assert.deepEqual(told({ leader: 2, leader_epoch: 1 }), [["leader", 1, 2], ["leader_epoch", 0, 1]]);
  assert.deepEqual(differing(before, { ...before, data: "gone" }, data, 100), [["", before.data, "gone"]]);
});

test("an object with the same name before and after is described by the fields that differ", () => {
  const group = (more) => ({ state: "Stable", generation_id: 3, members: {}, ...more });
  const read = (value) => value.state ?? "new";
  const [before, now] = [group({}), group({ generation_id: 4 })];
  assert.ok(isMeaningful("/groups/g", before, now));
  assert.deepEqual(differing(before, now, read, 26), [["generation_id", 3, 4]]);
  assert.deepEqual(differing(before, group({ state: "Empty" }), read, 26), [["", "Stable", "Empty"]]);
  assert.deepEqual(differing({ from: 1 }, { to: 2 }, read, 26), [["from", 1, undefined], ["to", undefined, 2]]);
});

test("a znode that holds objects differs in their fields", () => {
  const config = (ms) => `{"version":1,"config":{"retention.ms":"${ms}","segment.bytes":"100"}}`;
  assert.deepEqual(differing(config(1000), config(2000), String, 26), [["config retention.ms", "1000", "2000"]]);
});

test("a confirmed belief is not listed; a changed, new or removed one is", () => {
  const pointer = "/replicas/orders-0@b1/remotes/b2";
  const belief = (log_end_offset, last_caught_up_us) => ({ log_end_offset, last_caught_up_us });
  assert.ok(!isMeaningful(pointer, belief(5, 100), belief(5, 200)));
  assert.ok(isMeaningful(pointer, belief(5, 100), belief(6, 100)));
  assert.ok(isMeaningful(pointer, undefined, belief(0, 0)));
  assert.ok(isMeaningful(pointer, belief(0, 0), undefined));
  assert.ok(isMeaningful("/replicas/orders-0@b1/remotes", {}, { b2: belief(0, 0) }));
});

test("a value that was written again unchanged is not listed", () => {
  assert.ok(!isMeaningful("/replicas/orders-0@b1/isr", [1, 2], [1, 2]));
  assert.ok(!isMeaningful("/nodes/b1", { state: "up" }, { state: "up" }));
});

test("long texts without fields are shown from a little before their first difference", () => {
  const [long, other] = [`${"a".repeat(60)}b`, `${"a".repeat(60)}c`];
  assert.deepEqual(differing(long, other, String, 26), [["", `…${"a".repeat(20)}b`, `…${"a".repeat(20)}c`]]);
  assert.deepEqual(differing("up", "down", String, 26), [["", "up", "down"]]);
});
