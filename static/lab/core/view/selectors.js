// Selectors of the view: nodes, their order, their roles. They only read.

import { lastIndex } from "../last_index.js";

/** @import { AnyNode, Parked, Partition, Replica, View } from "./view.d.ts" */

/**
 * The role of a replica in its partition, as the drawings show it.
 * @typedef {"leader" | "isr" | "outisr" | "offline"} Role
 *
 * What can be pointed at. Ids: rpc "r12", broker "b1", client "p1", replica "orders-0@b1", record "orders-0@b1:42",
 * partition "orders-0", link "b1|b3", znode "/brokers", parked "r12".
 * @typedef {{ type: "rpc" | "broker" | "client" | "replica" | "record" | "partition" | "link" | "znode" | "parked", id: string }} Target
 */

/** What Kafka assumes when a broker's settings do not name it. */
const LAG_TIME_MAX_US = 30_000_000;

/** Names as people count: b2 before b10. @type {(a: string, b: string) => number} */
export const byName = new Intl.Collator("en", { numeric: true }).compare;

/**
 * The nodes by their kind, each list in the order of names.
 * @param {View} view
 */
export function nodesByKind(view) {
  /** @type {Record<AnyNode["kind"], string[]>} */
  const kinds = { broker: [], zookeeper: [], shell: [], producer: [], consumer: [], client: [] };
  for (const name of Object.keys(view.nodes).sort(byName)) kinds[view.nodes[name].kind].push(name);
  return kinds;
}

/** The clients that joined over TCP and identified themselves, by the name of the node. @param {View} view @returns {string[]} */
export function clientsFromOutside(view) {
  return nodesByKind(view).client.filter((name) => "software" in (view.nodes[name].settings ?? {}));
}

/** Topics of people before those of brokers. @type {(a: string, b: string) => number} */
export const internalLast = (a, b) => Number(a.startsWith("__")) - Number(b.startsWith("__")) || byName(a, b);

/** @param {View} view @returns {string[]} */
export function topicNames(view) {
  return Object.keys(view.topics).sort(internalLast);
}

/** The partitions of a topic, or all when none is named. @param {View} view @param {string | null} topic @returns {string[]} */
export function partitionNames(view, topic) {
  return Object.keys(view.partitions).filter((id) => topic === null || view.partitions[id].topic === topic).sort(internalLast);
}

/** "orders-0@b1:42" -> ["orders-0@b1", 42]. @param {string} record @returns {[string, number]} */
export function splitRecord(record) {
  const cut = record.lastIndexOf(":");
  return [record.slice(0, cut), Number(record.slice(cut + 1))];
}

/** @param {number} broker_id */
export function nodeOf(broker_id) {
  return `b${broker_id}`;
}

/**
 * The replicas of a partition from top to bottom: the leader, then the others by broker.
 * @param {Partition} partition
 * @returns {number[]} broker ids
 */
export function laneOrder(partition) {
  const rest = partition.replicas.filter((id) => id !== partition.leader).sort((a, b) => a - b);
  return partition.replicas.includes(partition.leader) ? [partition.leader, ...rest] : rest;
}

/** @param {View} view @param {string} id of the partition @param {number} broker_id @returns {Role} */
export function roleOf(view, id, broker_id) {
  const partition = view.partitions[id];
  const node = view.nodes[nodeOf(broker_id)];
  const replica = view.replicas[`${id}@${nodeOf(broker_id)}`];
  if (!node || node.state === "down" || replica?.role === "offline") return "offline";
  if (partition.leader === broker_id) return "leader";
  return partition.isr.includes(broker_id) ? "isr" : "outisr";
}

/** The replica of the leader that ZooKeeper names, if it has a log. @param {View} view @param {string} id @returns {Replica | undefined} */
export function leaderReplica(view, id) {
  return view.replicas[`${id}@${nodeOf(view.partitions[id].leader)}`];
}

/**
 * Where a replica's log ends: with what its files hold, where its broker is down. A process that is killed leaves all that it
 * wrote, a power
 * loss only what an fsync had put on the disk.
 * @param {View} view @param {Replica} replica
 */
export function logEnd(view, replica) {
  if (view.nodes[replica.node]?.state !== "down") return replica.log_end_offset;
  const last = Math.max(-1, ...Object.values(replica.tail).map((batch) => batch[0]));
  const stored = last < 0 ? replica.flushed : last + 1;
  return Math.max(replica.log_start_offset, Math.min(replica.log_end_offset, stored));
}

/** The leader epoch that an offset was written in, -1 when unknown. @param {[number, number][]} epochs @param {number} offset */
export function epochAt(epochs, offset) {
  const i = lastIndex(epochs.length, (k) => epochs[k][1] <= offset);
  return i < 0 ? -1 : epochs[i][0];
}

/**
 * The remote log end offsets of a leader, and the actual ones.
 * @param {View} view
 * @param {string} id of the partition
 * @returns {{ node: string, believed: number, really: number | null, last_caught_up_us: number }[]}
 */
export function beliefs(view, id) {
  const leader = leaderReplica(view, id);
  if (!leader) return [];
  return Object.keys(leader.remotes).sort(byName).map((node) => ({
    node,
    believed: leader.remotes[node].log_end_offset,
    really: endAt(view, `${id}@${node}`),
    last_caught_up_us: leader.remotes[node].last_caught_up_us,
  }));
}

/** @param {View} view @param {string} id of a replica @returns {number | null} */
function endAt(view, id) {
  const replica = view.replicas[id];
  return replica ? logEnd(view, replica) : null;
}

/**
 * How long a follower has not been caught up, as its leader sees it: not at all while the two ends are the same, however long ago it
 * fetched (Kafka's `Replica.stateSnapshot.isCaughtUp`).
 * @param {Replica} leader @param {{ log_end_offset: number, last_caught_up_us: number }} remote @param {number} at_us
 */
export function lagTime(leader, remote, at_us) {
  return remote.log_end_offset >= leader.log_end_offset ? 0 : Math.max(0, at_us - remote.last_caught_up_us);
}

/** How long a follower may lag before it leaves the ISR, microseconds. @param {View} view @param {string} node the leader's */
export function lagTimeMax(view, node) {
  const ms = Number(view.nodes[node]?.settings?.["replica.lag.time.max.ms"]);
  return ms > 0 ? ms * 1000 : LAG_TIME_MAX_US;
}

/**
 * A setting of a topic as its znode has it, or null.
 * @param {View} view
 * @param {string} topic
 * @param {string} key
 * @returns {string | null}
 */
export function topicSetting(view, topic, key) {
  const data = view.zk[`/config/topics/${topic}`]?.data;
  if (!data) return null;
  try {
    return JSON.parse(data).config?.[key] ?? null;
  } catch {
    return null;
  }
}

/** The partitions that a broker leads. @param {View} view @param {number} broker_id @param {string | null} topic @returns {string[]} */
export function ledBy(view, broker_id, topic) {
  return partitionNames(view, topic).filter((id) => view.partitions[id].leader === broker_id);
}

/** The partitions of which a broker has a replica outside the ISR. @param {View} view @param {number} broker_id @returns {string[]} */
export function outOfIsr(view, broker_id) {
  return partitionNames(view, null).filter((id) => {
    const { replicas, isr } = view.partitions[id];
    return replicas.includes(broker_id) && !isr.includes(broker_id);
  });
}

/** Records in a broker's logs that no fsync has covered. @param {View} view @param {string} node */
export function unflushed(view, node) {
  let records = 0;
  for (const replica of Object.values(view.replicas))
    if (replica.node === node) records += Math.max(0, replica.log_end_offset - Math.max(replica.flushed, replica.log_start_offset));
  return records;
}

/** @param {View} view @param {string} broker @returns {{ id: string, parked: View["parked"][string] }[]} the longest waiting first */
export function parkedAt(view, broker) {
  return Object.keys(view.parked)
    .filter((id) => view.parked[id].broker === broker)
    .map((id) => ({ id, parked: view.parked[id] }))
    .sort((a, b) => a.parked.since_us - b.parked.since_us || byName(a.id, b.id));
}

/**
 * What a request waits for, without the partition's name when there is only one: "HW >= 43".
 * @param {Pick<Parked, "partitions" | "needs">} parked
 */
export function shortNeeds({ partitions, needs }) {
  const short = partitions.length === 1 && needs.startsWith(`${partitions[0]} `) ? needs.slice(partitions[0].length + 1) : needs;
  return short.replace(">=", "≥");
}

/** Requests of a client that have no answer yet. @param {View} view @param {string} client */
export function inFlight(view, client) {
  let n = 0;
  for (const rpc of Object.values(view.rpcs)) if (rpc.source === client || rpc.destination === client) n++;
  for (const parked of Object.values(view.parked)) if (parked.client === client) n++;
  return n;
}

/** @param {string} a @param {string} b */
export function linkId(a, b) {
  return a < b ? `${a}|${b}` : `${b}|${a}`;
}

/**
 * What is wrong with a link beside being cut, a direction at a time.
 * @param {View} view @param {string} id of the link
 * @returns {{ from: string, to: string, latency_us: number, loss_percent: number, reorder_percent: number }[]}
 */
export function faultsOfLink(view, id) {
  const [a, b] = id.split("|");
  return [[a, b], [b, a]].flatMap(([from, to]) => {
    const fault = view.link_faults[`${from}>${to}`];
    return fault ? [{ from, to, ...fault }] : [];
  });
}

/** The links with which something is wrong. @param {View} view @returns {string[]} */
export function faultyLinks(view) {
  return [...new Set([...Object.keys(view.links), ...Object.keys(view.link_faults).map((key) => linkId(...ends(key)))])];
}

/** "b1>b2" -> ["b1", "b2"]. @param {string} direction @returns {[string, string]} */
function ends(direction) {
  const cut = direction.indexOf(">");
  return [direction.slice(0, cut), direction.slice(cut + 1)];
}

/** How many znodes are ephemeral. @param {View} view */
export function ephemerals(view) {
  let n = 0;
  for (const znode of Object.values(view.zk)) if (znode.ephemeral) n++;
  return n;
}

/** @typedef {"produce" | "fetch" | "control" | "group" | "zk"} Family */

const CONTROL = new Set(["LeaderAndIsr", "UpdateMetadata", "StopReplica", "AlterPartition", "ControlledShutdown", "CreateTopics",
  "DeleteTopics", "CreatePartitions", "ElectLeaders", "AlterPartitionReassignments", "ListPartitionReassignments", "DescribeConfigs",
    "AlterConfigs", "IncrementalAlterConfigs", "DescribeLogDirs"]);
const GROUP = new Set(["FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch"]);

/** Which hue an API's messages have. @param {string} api @param {string} kind @returns {Family} */
export function familyOf(api, kind) {
  if (kind === "watch" || api.startsWith("zk")) return "zk";
  if (api === "Produce") return "produce";
  if (api === "Fetch" || api === "ListOffsets" || api === "OffsetForLeaderEpoch") return "fetch";
  if (GROUP.has(api)) return "group";
  return CONTROL.has(api) ? "control" : "zk";
}

/**
 * Where a fetch reads, when a message is a fetch: the replica of the asker and the offset.
 * @param {View} view
 * @param {string} id
 * @returns {{ replica: string, offset: number }[]}
 */
export function footprint(view, id) {
  const rpc = view.rpcs[id];
  if (!rpc || rpc.api !== "Fetch" || rpc.kind !== "request") return [];
  return rpc.fields.flatMap(([name, value]) => {
    const partition = name.replace(/ fetch_offset$/, "");
    return partition in view.partitions && typeof value === "number" ? [{ replica: `${partition}@${rpc.source}`, offset: value }] : [];
  });
}
