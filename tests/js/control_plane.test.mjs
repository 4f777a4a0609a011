// The screens of the control plane: data of znodes, the controller's queue, state charts, alarms.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { INVARIANTS, giverOf, lostRecords, seqBefore, settingsOf, sortedAlarms } from "../../static/lab/core/view/alarms.js";
import { controllerQueue, countByState, firedWatches, partOfWay, watchesOf } from "../../static/lab/core/view/controller.js";
import { factsForAssignors, groupNames, isReplaced, lagRows, lastCommits, memberLag, memberRows, partitionsOf, waited } from "../../static/lab/core/view/groups.js";
import { queuesOf, slotsOf, usedMemory, waitedPart } from "../../static/lab/core/view/producers.js";
import { openPart, transactionKeys, transactionalLogs } from "../../static/lab/core/view/transactions.js";
import { STATE_H, STATE_W, columnsOf, layoutChart } from "../../static/lab/core/layout/statechart.js";
import { dataLines, diffLines, kindOf, nameParts, partitionAt } from "../../static/lab/core/view/znode.js";
import { withController } from "../../static/lab/core/view/placeholders.js";

const texts = ["en", "zh-CN"].map((name) => JSON.parse(readFileSync(new URL(`../../static/lab/i18n/${name}.json`, import.meta.url), "utf-8")));

test("data is shown in lines: JSON by its fields, short lists on one line, everything else unchanged", () => {
  assert.deepEqual(dataLines('{"leader":1,"isr":[1,2]}'), ["{", '  "leader": 1,', '  "isr": [1, 2]', "}"]);
  assert.deepEqual(dataLines("12"), ["12"]);
  assert.deepEqual(dataLines("{rubbish"), ["{rubbish"]);
  assert.deepEqual(dataLines(""), []);
  const nested = dataLines('{"partitions":[{"topic":"t","partition":0}],"map":{}}');
  assert.equal(JSON.stringify(JSON.parse(nested.join(""))), '{"partitions":[{"topic":"t","partition":0}],"map":{}}');
});

test("removed and added lines are listed; a comma at the end is no change", () => {
  const before = dataLines('{"leader":1,"isr":[1,2,3]}');
  const after = dataLines('{"leader":1,"isr":[1,3],"x":null}');
  assert.deepEqual(diffLines(before, after), [
    { mark: " ", text: "{" }, { mark: " ", text: '  "leader": 1,' }, { mark: "-", text: '  "isr": [1, 2, 3]' },
    { mark: "+", text: '  "isr": [1, 3],' }, { mark: "+", text: '  "x": null' }, { mark: " ", text: "}" },
  ]);
  assert.ok(diffLines(after, after).every(({ mark }) => mark === " "));
  assert.deepEqual(diffLines([], ["a"]), [{ mark: "+", text: "a" }]);
});

test("znodes have names, numbers and purposes", () => {
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

test("pending watches, responses and requests of the controller are listed, stuck ones first; changed configurations are not among them", () => {
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

test("a state chart has columns by distance from the first state, no overlaps, and an arrow for each entry of the table", () => {
  assert.deepEqual(columnsOf(CHART), [["None"], ["New"], ["On", "Off"]]);
  const { width, height, states, transitions } = layoutChart(CHART);
  for (const [i, a] of states.entries()) {
    assert.ok(a.x >= 0 && a.y >= 0 && a.x + STATE_W <= width && a.y + STATE_H <= height, a.state);
    for (const b of states.slice(i + 1)) assert.ok(Math.abs(a.x - b.x) >= STATE_W || Math.abs(a.y - b.y) >= STATE_H, `${a.state} and ${b.state}`);
  }
  assert.deepEqual(transitions.map(({ from, to }) => `${from}>${to}`).sort(), ["New>Off", "New>On", "None>New", "Off>None", "Off>On", "On>Off", "On>On"]);
  assert.ok(transitions.every(({ d, head }) => !`${d} ${head}`.includes("NaN")));
});

test("alarms are listed with the unexplained ones first, the count of losses, and the last instant before the failure", () => {
  const view = {
    alarms: { 9: { explained_by: "" }, 4: { explained_by: "an unclean election" }, 12: { explained_by: "" } },
    losses: { 7: { count: 2 }, 8: { count: 3 } },
  };
  const { unexplained, explained } = sortedAlarms(view);
  assert.deepEqual([unexplained.map(({ seq }) => seq), explained.map(({ seq }) => seq)], [[9, 12], [4]]);
  assert.equal(lostRecords(view).records, 5);
  assert.equal(seqBefore(100, 40), 39);
  assert.equal(seqBefore(100, 0), 98, "before the event that the alarm follows");
  assert.equal(seqBefore(2, 0), 1);
  assert.deepEqual(settingsOf("a=1; era=0.10 (truncation HW)"), ["a=1", "era=0.10 (truncation HW)"]);
});

test("every invariant has a sentence and a guarantor in both languages", () => {
  for (const each of texts)
    for (const invariant of INVARIANTS) {
      assert.ok(`invariant.${invariant}` in each, invariant);
      assert.ok(`alarm.giver.${giverOf(invariant)}` in each, invariant);
    }
});

test("groups show owners, previous owners, lag, and the time left in a state", () => {
  const group = {
    group: "g", coordinator: "b1", partition: "__consumer_offsets-0", state: "Stable", since_us: 10, due_us: 0, generation_id: 2,
    protocol: "range", leader: "c1-x", why: "", offsets: { "t-0": 3 }, previous: { "t-0": "c2", "t-1": "c1" },
    commits: { "t-1": null, "t-0": [3, 0, "", 99] },
    members: { "c1-x": { client: "c1", instance: "", topics: ["t"], assignment: ["t-0"] }, "c2-y": { client: "c2", instance: "i", topics: ["t", "gone"], assignment: ["t-1"] } },
  };
  const view = { assignors: { mine: "keep" },
    groups: { "g@b1": group, "a@b2": { ...group, group: "a", coordinator: "b2" } },
    partitions: { "t-0": { topic: "t", leader: 1 }, "t-1": { topic: "t", leader: 1 }, "t-2": { topic: "t", leader: 1 }, "__consumer_offsets-0": { topic: "__consumer_offsets", leader: 1 } },
    replicas: { "t-0@b1": { log_start_offset: 0, high_watermark: 5, log_end_offset: 6, first_unstable_offset: 4 } },
    topics: { t: { partitions: 3 } }, nodes: { c1: { kind: "consumer", positions: { "t-0": 4 } } }, zk: {},
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
  assert.deepEqual([first.position, first.last_stable_offset, second.position], [4, 4, null]);
  assert.deepEqual(lastCommits(group), [{ partition: "t-0", value: [3, 0, "", 99] }, { partition: "t-1", value: null }]);
  assert.deepEqual(factsForAssignors(view, group), {
    generation_id: 2, partitions: { t: 3 }, assignors: { mine: "keep" },
    members: [{ id: "c1-x", instance: "", topics: ["t"], owned: ["t-0"] }, { id: "c2-y", instance: "i", topics: ["t", "gone"], owned: ["t-1"] }],
  });
  const joining = { ...group, offsets: {}, members: { "c1-x": { ...group.members["c1-x"], assignment: [] } } };
  assert.deepEqual(partitionsOf(view, joining), columns, "what it wants, before it owns any of it");
  const settings = { "group.id": "g" };
  assert.equal(memberLag(view, { assignment: ["t-0", "t-1"], positions: { "t-0": 4 }, settings }), 1);
  assert.equal(waited(group, 20), null);
  assert.equal(waited({ ...group, due_us: 30 }, 20), 0.5);
});

test("a member begins at what its group has committed, until it has read something", () => {
  const members = { "c1-x": { client: "c1", instance: "", topics: ["t"], assignment: ["t-0", "t-1"] } };
  const node = { kind: "consumer", assignment: ["t-0", "t-1"], positions: { "t-1": 6 }, settings: { "group.id": "g" } };
  const group = { group: "g", coordinator: "b1", partition: "__consumer_offsets-0", members, offsets: { "t-0": 3, "t-1": 1 }, previous: {} };
  const view = {
    groups: { "g@b2": { ...group, coordinator: "b2", offsets: {} }, "g@b1": group }, nodes: { c1: node }, zk: {},
    partitions: { "t-0": { leader: 1 }, "t-1": { leader: 1 }, "__consumer_offsets-0": { leader: 1 } },
    replicas: { "t-0@b1": { high_watermark: 10, log_end_offset: 10 }, "t-1@b1": { high_watermark: 7, log_end_offset: 7 } },
  };
  assert.deepEqual(lagRows(view, group, ["t-0", "t-1"]).map(({ position }) => position), [3, 6]);
  assert.equal(memberLag(view, node), 7 + 1);
  const zk = { "/consumers/g": { data: "" }, "/consumers/g/offsets/t/0": { data: "8" } };
  assert.equal(memberLag({ ...view, groups: {}, zk }, node), 2 + 1);
  assert.equal(memberLag({ ...view, groups: {} }, node), 1, "nothing is known of the group");
});

test("a producer shows waiting batches by partition, requests in flight, and its memory", () => {
  const batch = (partition, state, more = {}) => ({ partition, state, count: 1, size: 70, retries: 0, since_us: 0, due_us: 0, error: "", leader: "", request: 0, ...more });
  const producer = {
    sequences: { "t-2": [0, 4] },
    batches: {
      10: batch("t-1", "in flight"), 9: batch("t-1", "pause", { due_us: 40, since_us: 20 }), 2: batch("t-0", "sent", { leader: "b1", request: 7 }),
      3: batch("t-3", "sent", { leader: "b1", request: 7 }), 4: batch("t-3", "sent", { leader: "b1", request: 8, size: 200 }),
    },
  };
  assert.deepEqual(queuesOf(producer).map(({ partition, batches }) => [partition, batches.map(({ sequence }) => sequence)]),
    [["t-0", []], ["t-1", [9, 10]], ["t-2", []], ["t-3", []]]);
  const [{ leader, slots }] = slotsOf(producer);
  assert.deepEqual([leader, slots.map(({ request, batches }) => [request, batches.length])], ["b1", [[7, 2], [8, 1]]]);
  assert.equal(usedMemory(producer, 100), 4 * 100 + 200);
  assert.equal(waitedPart(batch("t-0", "linger", { due_us: 100, since_us: 90 }), 80, 40), 0.25);
  assert.equal(waitedPart(producer.batches[9], 80, 30), 0.5);
  assert.equal(waitedPart(producer.batches[10], 80, 30), null);
});

test("transactions are listed by id, with how long each is open and what its partitions withhold", () => {
  const one = { transactional_id: "b", coordinator: "b1", partition: "s-0", state: "Ongoing", timeout_ms: 1000, start_ms: 5500, partitions: ["t-0"] };
  const replica = { log_start_offset: 3, log_end_offset: 9, high_watermark: 8, first_unstable_offset: 6, markers: [[2, "ABORT", 7, 0, 1], [5, "ABORT", 7, 0, 4], [4, "COMMIT", 8, 0, -1]] };
  const view = {
    run: { start_wall_ms: 5000 }, transactions: { "b@b1": one, "a@b2": { ...one, transactional_id: "a", coordinator: "b2" }, "b@b2": { ...one, coordinator: "b2" } },
    partitions: { "s-0": { leader: 1 }, "t-0": { leader: 1 }, "t-1": { leader: 1 } }, replicas: { "t-0@b1": replica, "t-1@b1": { ...replica, markers: [] } },
  };
  assert.deepEqual(transactionKeys(view), ["a@b2", "b@b1", "b@b2"]);
  assert.equal(openPart(view, one, 1_000_000), 0.5);
  assert.equal(openPart(view, { ...one, state: "CompleteAbort" }, 1_000_000), null);
  const [log, ...others] = transactionalLogs(view, one.partitions);
  assert.deepEqual([log.last_stable_offset, log.markers.length, log.aborted.map(([offset]) => offset), others.length], [6, 2, [5], 0]);
});

const STEP = "Cut it:\n```\nlink cut @controller zk\n```\nand then\n```\nlink restore @controller zk\n```";

test("a command of a lesson names the current controller, and restores the link that was cut", () => {
  const before = withController(STEP, { controller: { broker: 2 }, links: {} });
  assert.match(before, /link cut 2 zk/);
  const after = withController(STEP, { controller: { broker: 3 }, links: { "b1|b2": {}, "b2|zk": {} } });
  assert.match(after, /link cut 3 zk/);
  assert.match(after, /link restore 2 zk/);
});

test("without a controller the command is unchanged", () => {
  assert.equal(withController(STEP, { controller: { broker: -1 }, links: {} }), STEP);
});
