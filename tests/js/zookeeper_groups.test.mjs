// Groups that exist in ZooKeeper only.
import assert from "node:assert/strict";
import test from "node:test";
import { zookeeperGroups } from "../../static/lab/core/view/zookeeper_groups.js";

test("a group is made of ids, owners and offsets", () => {
  const zk = Object.fromEntries(Object.entries({
    "/consumers": "", "/consumers/g1": "", "/consumers/g1/ids": "", "/consumers/g1/ids/g1_c1": '{"subscription":{"de-mo":1}}',
    "/consumers/g1/owners/de-mo/0": "g1_c1-0", "/consumers/g1/owners/de-mo/1": "g1_gone-0", "/consumers/g1/offsets/de-mo/1": "7",
  }).map(([path, data]) => [path, { data }]));
  const nodes = { c1: { kind: "consumer", member: { member_id: "g1_c1" } } };
  assert.deepEqual(zookeeperGroups({ zk, nodes }), [{
    group: "g1", members: { g1_c1: { client: "c1", instance: "", topics: ["de-mo"], assignment: ["de-mo-0"] } }, offsets: { "de-mo-1": 7 }, previous: {}, leader: "",
  }]);
});
