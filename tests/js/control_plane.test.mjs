// The screens of the control plane: data of znodes, the controller's queue, state charts, alarms.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { INVARIANTS, giverOf, lostByOneAck, seqBefore, settingsOf, sortedAlarms } from "../../static/lab/core/alarms.js";
import { controllerQueue, countByState, firedWatches, partOfWay, watchesOf } from "../../static/lab/core/controller.js";
import { groupNames, isReplaced, lagRows, memberRows, partitionsOf, queuesOf, waited } from "../../static/lab/core/groups.js";
import { STATE_H, STATE_W, columnsOf, layoutChart } from "../../static/lab/core/layout/statechart.js";
import { dataLines, diffLines, kindOf, nameParts, partitionAt } from "../../static/lab/core/znode.js";

const texts = ["en", "zh-CN"].map((name) => JSON.parse(readFileSync(new URL(`../../static/lab/i18n/${name}.json`, import.meta.url), "utf-8")));

test("data in lines: JSON by its fields, short lists on one line, anything else as it is", () => {
  assert.deepEqual(dataLines('{"leader":1,"isr":[1,2]}'), ["{", '  "leader": 1,', '  "isr": [1, 2]', "}"]);
  assert.deepEqual(dataLines("12"), ["12"]);
  assert.deepEqual(dataLines("{rubbish"), ["{rubbish"]);
  assert.deepEqual(dataLines(""), []);
  const nested = dataLines('{"partitions":[{"topic":"t","partition":0}],"map":{}}');
  assert.equal(JSON.stringify(JSON.parse(nested.join(""))), '{"partitions":[{"topic":"t","partition":0}],"map":{}}');
});

test("what changed: lines that went and lines that came; a comma at the end is no change", () => {
  const before = dataLines('{"leader":1,"isr":[1,2,3]}');
  const after = dataLines('{"leader":1,"isr":[1,3],"x":null}');
  assert.deepEqual(diffLines(before, after), [
    { mark: " ", text: "{" }, { mark: " ", text: '  "leader": 1,' }, { mark: "-", text: '  "isr": [1, 2, 3]' },
    { mark: "+", text: '  "isr": [1, 3],' }, { mark: "+", text: '  "x": null' }, { mark: " ", text: "}" },
  ]);
  assert.ok(diffLines(after, after).every(({ mark }) => mark === " "));
  assert.deepEqual(diffLines([], ["a"]), [{ mark: "+", text: "a" }]);
});

test("names, numbers and purposes of znodes", () => {
  assert.deepEqual(nameParts("/isr_change_notification/isr_change_0000000012"), ["isr_change_", "0000000012"]);
  assert.deepEqual(nameParts("/brokers/ids/1"), ["1", ""]);
  assert.deepEqual(nameParts("/"), ["/", ""]);
  assert.equal(partitionAt("/brokers/topics/a-b/partitions/10/state"), "a-b-10");
  assert.equal(kindOf("/brokers/topics/orders/partitions/0/state"), "state");
  assert.equal(kindOf("/brokers/topics/orders"), "topic");
  assert.equal(kindOf("/somebody/elses"), "");
  for (const path of ["/controller", "/config/changes/config_change_0000000000", "/config/topics/orders", "/admin/delete_topics/x"])
    for (const each of texts) assert.ok(`znode.about.${kindOf(path)}` in each, path);
});

const rpc = (more) => ({ api: "Fetch", kind: "request", source: "b2", destination: "b1", sent_us: 0, due_us: 100, fields: [], held: "", ...more });
const watch = (path, more) => rpc({ api: "WatchEvent", kind: "watch", source: "zk", fields: [["kind", "children"], ["path", path]], ...more });

test("what waits for the controller: watches, answers and requests, what is stuck first; changed configurations are not its own", () => {
  const view = {
    controller: { broker: 1 },
    rpcs: {
      r1: rpc({}), r2: rpc({ api: "AlterPartition", due_us: 300 }), r3: watch("/brokers/ids", { due_us: 200 }), r4: watch("/config/changes"),
      r5: rpc({ api: "LeaderAndIsr", kind: "response", due_us: 900, held: "the process is frozen" }), r6: watch("/controller", { destination: "b2" }),
    },
  };
  assert.deepEqual(controllerQueue(view).map(({ id }) => id), ["r5", "r3", "r2"]);
  assert.deepEqual(firedWatches(view).map(({ id, path, broker }) => [id, path, broker]), [["r3", "/brokers/ids", "b1"], ["r4", "/config/changes", "b1"], ["r6", "/controller", "b2"]]);
  assert.equal(partOfWay(view.rpcs.r3, 50), 0.25);
  assert.equal(partOfWay(view.rpcs.r3, 500), 1);
  assert.equal(partOfWay(view.rpcs.r5, 900), 0.5);
  assert.equal(watchesOf({ watches: { "/a": { b1: ["data", "children"] }, "/b": { b2: ["data"], b1: ["data"] } } }, "b1"), 3);
  assert.deepEqual(countByState({ a: "X", b: "Y", c: "X" }), { X: 2, Y: 1 });
});

const CHART = { states: ["None", "New", "On", "Off"], previous: { None: ["Off"], New: ["None"], On: ["New", "On", "Off"], Off: ["New", "On"] } };

test("a state chart: columns by the way from the first state, no two states overlap, an arrow for each entry of the table", () => {
  assert.deepEqual(columnsOf(CHART), [["None"], ["New"], ["On", "Off"]]);
  const { width, height, states, transitions } = layoutChart(CHART);
  for (const [i, a] of states.entries()) {
    assert.ok(a.x >= 0 && a.y >= 0 && a.x + STATE_W <= width && a.y + STATE_H <= height, a.state);
    for (const b of states.slice(i + 1)) assert.ok(Math.abs(a.x - b.x) >= STATE_W || Math.abs(a.y - b.y) >= STATE_H, `${a.state} and ${b.state}`);
  }
  assert.deepEqual(transitions.map(({ from, to }) => `${from}>${to}`).sort(), ["New>Off", "New>On", "None>New", "Off>None", "Off>On", "On>Off", "On>On"]);
  assert.ok(transitions.every(({ d, head }) => !`${d} ${head}`.includes("NaN")));
});

test("alarms: the unexplained first, losses counted, and where all could still have gone well", () => {
  const view = {
    alarms: { 9: { explained_by: "" }, 4: { explained_by: "an unclean election" }, 12: { explained_by: "" } },
    losses: { 7: { count: 2 }, 8: { count: 3 } },
  };
  const { unexplained, explained } = sortedAlarms(view);
  assert.deepEqual([unexplained.map(({ seq }) => seq), explained.map(({ seq }) => seq)], [[9, 12], [4]]);
  assert.equal(lostByOneAck(view).records, 5);
  assert.equal(seqBefore(100, 40), 39);
  assert.equal(seqBefore(100, 0), 98, "before the event that the alarm follows");
  assert.equal(seqBefore(2, 0), 1);
  assert.deepEqual(settingsOf("a=1; era=0.10 (truncation HW)"), ["a=1", "era=0.10 (truncation HW)"]);
});

test("every invariant has its sentence and somebody who gives it, in both languages", () => {
  for (const each of texts)
    for (const invariant of INVARIANTS) {
      assert.ok(`invariant.${invariant}` in each, invariant);
      assert.ok(`alarm.giver.${giverOf(invariant)}` in each, invariant);
    }
});

test("groups: who owns what, who had it before, how far behind, and how long a state may wait", () => {
  const group = {
    group: "g", coordinator: "b1", partition: "__consumer_offsets-0", state: "Stable", since_us: 10, due_us: 0, generation_id: 2,
    protocol: "range", leader: "c1-x", why: "", offsets: { "t-0": 3 }, previous: { "t-0": "c2", "t-1": "c1" },
    members: { "c1-x": { client: "c1", instance: "", assignment: ["t-0"] }, "c2-y": { client: "c2", instance: "i", assignment: ["t-1"] } },
  };
  const view = {
    groups: { "g@b1": group, "a@b2": { ...group, group: "a", coordinator: "b2" } },
    partitions: { "t-0": { topic: "t", leader: 1 }, "t-1": { topic: "t", leader: 1 }, "t-2": { topic: "t", leader: 1 }, "__consumer_offsets-0": { topic: "__consumer_offsets", leader: 1 } },
    replicas: { "t-0@b1": { log_start_offset: 0, high_watermark: 5, log_end_offset: 6 } },
  };
  assert.deepEqual(groupNames(view), ["a@b2", "g@b1"]);
  assert.equal(isReplaced(view, "a@b2"), true);
  assert.equal(isReplaced(view, "g@b1"), false);
  const columns = partitionsOf(view, group);
  assert.deepEqual(columns, ["t-0", "t-1", "t-2"]);
  assert.deepEqual(memberRows(group, columns).map(({ client, isLeader, cells }) => [client, isLeader, cells]), [
    ["c1", true, ["owned", "was", ""]], ["c2", false, ["was", "owned", ""]],
  ]);
  const [first, second] = lagRows(view, group, columns);
  assert.deepEqual([first.lag, first.committed, second.lag, second.committed], [2, 3, null, null]);
  assert.equal(waited(group, 20), null);
  assert.equal(waited({ ...group, due_us: 30 }, 20), 0.5);
});

test("a producer's batches stand in the queues of their partitions, the oldest first", () => {
  const batch = (partition, state) => ({ partition, state, count: 1, size: 70, retries: 0, since_us: 0, error: "" });
  const queues = queuesOf({ batches: { 10: batch("t-1", "sent"), 9: batch("t-1", "in flight"), 2: batch("t-0", "sent") } });
  assert.deepEqual(queues.map(({ partition, batches }) => [partition, batches.map(({ sequence }) => sequence)]), [["t-0", [2]], ["t-1", [9, 10]]]);
});
