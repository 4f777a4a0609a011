// Two branches or eras side by side: instants that belong together, and what differs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { commonCommands, differences, otherInstant, rangesOf } from "../../static/lab/core/view/compare.js";

const command = (at_us, line) => ({ seq: 0, at_us, line });

test("common commands end before the first different one", () => {
  const a = [command(10, "x"), command(20, "y"), command(30, "z")];
  assert.deepEqual(commonCommands(a, [command(11, "x"), command(25, "y"), command(40, "w"), command(50, "z")]).map(([one, other]) => [one.at_us, other.at_us]), [[10, 11], [20, 25]]);
  assert.deepEqual(commonCommands(a, []), []);
});

test("a common command is at the same place of the playhead; after the last one time advances equally", () => {
  const pairs = [[10, 20], [20, 60]];
  assert.deepEqual([0, 5, 10, 15, 20, 27].map((at) => otherInstant(pairs, at)), [0, 10, 20, 40, 60, 67]);
  assert.equal(otherInstant([], 42), 42);
  assert.equal(otherInstant([[10, 20], [10, 30]], 10), 30, "two commands of one instant");
  for (let at = 0, last = -1; at < 40; at++) {
    const now = otherInstant(pairs, at);
    assert.ok(now >= last, "time never goes back");
    last = now;
  }
});

const replica = (more) => ({ role: "follower", log_start_offset: 0, log_end_offset: 2, high_watermark: 2, ...more });
const cluster = { controller: { broker: 1, controller_epoch: 1 }, nodes: {}, links: {}, link_faults: {}, groups: {} };
const view = (leader, isr, replicas) => ({
  ...cluster,
  partitions: { "orders-0": { replicas: [1, 2], leader, leader_epoch: 1, isr } },
  replicas: Object.fromEntries(Object.entries(replicas).map(([id, more]) => [`orders-0@${id}`, replica(more)])),
});

test("the order of the ISR is no difference", () => {
  const a = view(1, [1, 2], { b1: { role: "leader" }, b2: {} });
  const b = view(1, [2, 1], { b1: { role: "leader" }, b2: {} });
  const found = differences(a, b, { "orders-0@b1": { 0: "k:v" } }, { "orders-0@b1": { 0: "k:v" } });
  assert.deepEqual([found.list, found.partitions.size, found.fields.size, found.records.size], [[], 0, 0, 0]);
});

test("leader, ISR, log ends, high watermarks, and different or missing records are compared", () => {
  const a = view(1, [1, 2], { b1: { role: "leader", log_end_offset: 4, high_watermark: 3 }, b2: {} });
  const b = view(2, [2], { b1: { log_end_offset: 2, high_watermark: 2 }, b2: { role: "leader" } });
  const found = differences(a, b, { "orders-0@b1": { 0: "m0", 1: "m1", 2: "m2" } }, { "orders-0@b1": { 0: "m0", 1: "other" } });
  assert.ok(found.partitions.has("orders-0"));
  assert.deepEqual([...found.fields.get("orders-0@b1")], ["role", "log_end_offset", "high_watermark"]);
  assert.deepEqual([...found.records.get("orders-0@b1")], [1, 2, 3]);
  assert.equal(found.records.has("orders-0@b2"), false);
  const records = found.list.find(({ field }) => field === "records");
  assert.deepEqual([records.node, records.a, records.b], ["b1", "1 m1 · 2 m2 · 3", "1 other"]);
  assert.deepEqual(found.list.filter(({ node }) => node === "").map(({ field, a: one, b: other }) => [field, one, other]), [["leader", "b1", "b2"], ["isr", "{1,2}", "{2}"]]);
});

test("a replica of one side only differs in all fields; unknown records are compared by their number", () => {
  const a = view(1, [1], { b1: { role: "leader", log_end_offset: 9 } });
  const empty = { ...cluster, partitions: {}, replicas: {} };
  const found = differences(a, empty, null, null);
  assert.deepEqual([...found.records.get("orders-0@b1")], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(found.list.find(({ field }) => field === "records").a, "0–8");
  assert.equal(differences(empty, empty, null, null).list.length, 0);
});

test("nodes, links, groups and the controller come before the partitions, Kafka's own topics last", () => {
  const same = { partitions: {}, replicas: {} };
  const a = { ...cluster, ...same, nodes: { b1: { state: "up" }, b2: { state: "up" }, p1: { state: "up" } },
    groups: { "g@b1": { state: "Stable", generation_id: 2, members: { m: {} } } } };
  const b = { ...cluster, ...same, controller: { broker: 2, controller_epoch: 2 }, nodes: { b1: { state: "up" }, b2: { state: "down" } },
    links: { "b1|b2": { state: "cut", since_us: 4 }, "b1|b3": { state: "cut", since_us: 4, from: "b3" } },
    link_faults: { "b2>b1": { latency_us: 50_000, loss_percent: 5, reorder_percent: 0 } },
    groups: { "g@b1": { state: "PreparingRebalance", generation_id: 2, members: {} } } };
  assert.deepEqual(differences(a, b, null, null).list.map((one) => [one.node, one.field, one.a, one.b]), [
    ["", "controller", "b1", "b2"], ["", "controller_epoch", "1", "2"], ["b2", "state", "up", "down"], ["p1", "state", "up", "-"],
    ["b1–b2", "link", "whole", "cut · 50 ms b2>b1 · 5 % b2>b1"], ["b1–b3", "link", "whole", "cut b3>b1"],
    ["g @ b1", "group_state", "Stable", "PreparingRebalance"], ["g @ b1", "members", "1", "0"]]);
  const partitions = { "__consumer_offsets-0": { replicas: [], leader: 1, leader_epoch: 1, isr: [] },
    "orders-0": { replicas: [], leader: 1, leader_epoch: 1, isr: [] } };
  const places = differences({ ...a, partitions }, a, null, null).list.map(({ partition }) => partition);
  assert.deepEqual([...new Set(places)], ["orders-0", "__consumer_offsets-0"]);
});

test("consecutive offsets are written as ranges", () => {
  assert.deepEqual(rangesOf([1, 2, 3, 7, 9, 10]), [[1, 3], [7, 7], [9, 10]]);
  assert.deepEqual(rangesOf([]), []);
});
