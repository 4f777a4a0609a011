// The things that a poll about the picture may be answered with, from a lab's view and from the tiles of a board.
import assert from "node:assert/strict";
import test from "node:test";
import { thingsOf, thingsOfTiles, withOthers } from "../../../static/lab/core/classroom/things.js";

/** @param {{ type: string, ids: string[] }[]} things */
const byType = (things) => Object.fromEntries(things.map(({ type, ids }) => [type, ids]));
const replica = (node, first, end) => ({ partition: "orders-0", node, log_start_offset: first, log_end_offset: end });

test("a lab has its nodes, the replicas of a partition, and their last records", () => {
  const view = {
    nodes: { b10: { kind: "broker" }, b2: { kind: "broker" }, p1: { kind: "producer" }, zk: { kind: "zookeeper" } },
    partitions: { "orders-0": { topic: "orders" }, "orders-1": { topic: "orders" }, "other-0": { topic: "other" } },
    replicas: { "orders-0@b2": replica("b2", 0, 40), "orders-0@b10": replica("b10", 3, 5), "orders-1@b2": { partition: "orders-1" } },
    rpcs: { r12: {}, r9: {} }, parked: {},
  };
  const things = byType(thingsOf(view, "orders-0", ["b2|b10"]));
  assert.deepEqual(things.broker, ["b2", "b10"]);
  assert.deepEqual(things.partition, ["orders-0", "orders-1"]);
  assert.deepEqual(things.replica, ["orders-0@b2", "orders-0@b10"]);
  assert.deepEqual([things.record.length, things.record[0], things.record.at(-1)], [14, "orders-0@b2:28", "orders-0@b10:4"]);
  assert.deepEqual([things.rpc, things.link, things.znode, things.parked], [["r9", "r12"], ["b2|b10"], ["/"], undefined]);
});

test("a board has what any of its tiles has", () => {
  const tile = (rows) => ["pause", 1, 1, "orders-0", rows];
  const things = byType(thingsOfTiles([tile([[1, "l", 0, 2, 1, null]]), tile([[1, "l", 0, 1, 1, null], [2, "i", 0, 1, 1, null]])]));
  assert.deepEqual(things, {
    broker: ["b1", "b2"], partition: ["orders-0"], replica: ["orders-0@b1", "orders-0@b2"],
    record: ["orders-0@b1:0", "orders-0@b1:1", "orders-0@b2:0"],
  });
  assert.deepEqual(thingsOfTiles([]), []);
});

test("answers are listed even if no tile has them", () => {
  const things = byType(withOthers([{ type: "broker", ids: ["b1"] }], [
    { type: "broker", id: "b1" }, { type: "broker", id: "b2" }, { type: "link", id: "b1|b3" },
  ]));
  assert.deepEqual(things, { broker: ["b1", "b2"], link: ["b1|b3"] });
  assert.deepEqual(byType(withOthers([], [{ type: "znode", id: "/config" }])), { znode: ["/config"] });
});
