// Two branches or eras side by side: which instants of theirs belong together, and what differs at one. Pure functions.

import { byName, faultsOfLink, faultyLinks } from "./selectors.js";

/** This many records are listed one by one. */
const MAX_SHOWN = 3;

/** @import { AnyNode, Group, Partition, Replica, View } from "./view.d.ts" */

/**
 * @typedef {{ seq: number, at_us: number, line: string }} Command
 * @typedef {Record<string, Record<string, string>>} Contents replica -> offset -> the record as text
 * @typedef {{ partition: string, node: string, field: string, a: string, b: string }} Difference `node` is "" for what is
 *   said of the partition as a whole; `partition` is "" for what is said of the cluster, a node, a link or a group
 * @typedef {{ partitions: Set<string>, fields: Map<string, Set<string>>, records: Map<string, Set<number>>, list: Difference[]
 *   }} Differences
 *   `partitions`: those about which ZooKeeper says something else; `fields` and `records` by replica
 */

/**
 * The commands that both have, in order, up to the first that is another one.
 * @param {Command[]} a
 * @param {Command[]} b
 * @returns {[Command, Command][]}
 */
export function commonCommands(a, b) {
  /** @type {[Command, Command][]} */
  const pairs = [];
  for (let i = 0; i < a.length && i < b.length && a[i].line === b[i].line; i++) pairs.push([a[i], b[i]]);
  return pairs;
}

/**
 * The instant of the other side that belongs to one of this side: a common command is given at the same place in both, and
 * between two of them time is stretched to fit; before the first and after the last it runs alike.
 * @param {[number, number][]} pairs instants of common commands, this side's and the other's, ascending
 * @param {number} at_us
 */
export function otherInstant(pairs, at_us) {
  let before = /** @type {[number, number]} */ ([0, 0]);
  for (const pair of pairs) {
    if (at_us < pair[0]) {
      const span = pair[0] - before[0];
      return span > 0 ? Math.round(before[1] + ((at_us - before[0]) * (pair[1] - before[1])) / span) : before[1];
    }
    before = pair;
  }
  return before[1] + at_us - before[0];
}

/** What is compared of a partition, as ZooKeeper has it. @type {[string, (partition: Partition) => string][]} */
const OF_PARTITION = [
  ["leader", ({ leader }) => (leader < 0 ? "-" : `b${leader}`)],
  ["leader_epoch", ({ leader_epoch }) => String(leader_epoch)],
  ["isr", ({ isr }) => `{${[...isr].sort((one, other) => one - other).join(",")}}`],
];
/** What is compared of a replica. @type {[string, (replica: Replica) => string][]} */
const OF_REPLICA = [
  ["role", ({ role }) => role],
  ["log_end_offset", ({ log_end_offset }) => String(log_end_offset)],
  ["high_watermark", ({ high_watermark }) => String(high_watermark)],
  ["log_start_offset", ({ log_start_offset }) => String(log_start_offset)],
];

/** What is compared of the cluster. @type {[string, (view: View) => string][]} */
const OF_CLUSTER = [
  ["controller", ({ controller }) => (controller.broker < 0 ? "-" : `b${controller.broker}`)],
  ["controller_epoch", ({ controller }) => String(controller.controller_epoch)],
];
/** What is compared of a node. @type {[string, (node: AnyNode) => string][]} */
const OF_NODE = [["state", ({ state }) => state ?? "-"]];
/** What is compared of a group, as its coordinator has it. @type {[string, (group: Group) => string][]} */
const OF_GROUP = [
  ["group_state", ({ state }) => state],
  ["generation", ({ generation_id }) => String(generation_id)],
  ["members", ({ members }) => String(Object.keys(members ?? {}).length)],
];

/**
 * What is wrong with a link, a code for each fault: "cut", "cut b1>b2", "100 ms b1>b2", "5 % b1>b2".
 * @param {View} view @param {string} id
 */
function linkState(view, id) {
  const link = view.links[id];
  const [a, b] = id.split("|");
  const cut = link?.from ? `cut ${link.from}>${link.from === a ? b : a}` : "cut";
  const faults = faultsOfLink(view, id).flatMap(({ from, to, latency_us: latency, loss_percent: loss, reorder_percent: reorder }) =>
    [latency ? `${latency / 1000} ms ${from}>${to}` : "", loss ? `${loss} % ${from}>${to}` : "",
      reorder ? `⇄ ${reorder} % ${from}>${to}` : ""].filter(Boolean));
  return [...(link ? [cut] : []), ...faults].join(" · ") || "whole";
}

/**
 * Of the cluster, its nodes, links and groups: what the pictures above the logs show.
 * @param {View} a @param {View} b @returns {Difference[]}
 */
function clusterDifferences(a, b) {
  /** @type {Difference[]} */
  const list = compared(OF_CLUSTER, a, b).map((one) => ({ partition: "", node: "", ...one }));
  for (const node of union(a.nodes, b.nodes))
    list.push(...compared(OF_NODE, a.nodes[node], b.nodes[node]).map((one) => ({ partition: "", node, ...one })));
  for (const id of new Set([...faultyLinks(a), ...faultyLinks(b)])) {
    const [one, other] = [linkState(a, id), linkState(b, id)];
    if (one !== other) list.push({ partition: "", node: id.replace("|", "–"), field: "link", a: one, b: other });
  }
  for (const id of union(a.groups, b.groups))
    list.push(...compared(OF_GROUP, a.groups[id], b.groups[id]).map((one) => ({ partition: "", node: id.replace("@", " @ "), ...one })));
  return list;
}

/** @param {Record<string, unknown>} one @param {Record<string, unknown>} other */
const union = (one, other) => [...new Set([...Object.keys(one), ...Object.keys(other)])].sort(byName);
/** Topics of the lab's user before Kafka's own. @param {string} partition */
const isInternal = (partition) => partition.startsWith("__");

/**
 * @param {View} a @param {View} b
 * @param {Contents | null} a_contents null while it is not known what the records are: then only which there are counts
 * @param {Contents | null} b_contents
 * @returns {Differences}
 */
export function differences(a, b, a_contents, b_contents) {
  /** @type {Differences} */
  const found = { partitions: new Set(), fields: new Map(), records: new Map(), list: clusterDifferences(a, b) };
  const names = union(a.partitions, b.partitions);
  for (const partition of [...names.filter((name) => !isInternal(name)), ...names.filter(isInternal)]) {
    const [one, other] = [a.partitions[partition], b.partitions[partition]];
    for (const difference of compared(OF_PARTITION, one, other)) {
      found.partitions.add(partition);
      found.list.push({ partition, node: "", ...difference });
    }
    const nodes = [...new Set([...(one?.replicas ?? []), ...(other?.replicas ?? [])])].sort((x, y) => x - y).map((id) => `b${id}`);
    for (const node of nodes) compareReplica(found, partition, node, a, b, a_contents, b_contents);
  }
  return found;
}

/**
 * @param {Differences} found
 * @param {string} partition
 * @param {string} node
 * @param {View} a
 * @param {View} b
 * @param {Contents | null} a_contents
 * @param {Contents | null} b_contents
 */
function compareReplica(found, partition, node, a, b, a_contents, b_contents) {
  const id = `${partition}@${node}`;
  const [one, other] = [a.replicas[id], b.replicas[id]];
  for (const difference of compared(OF_REPLICA, one, other)) {
    found.fields.set(id, (found.fields.get(id) ?? new Set()).add(difference.field));
    found.list.push({ partition, node, ...difference });
  }
  const offsets = otherRecords(one, other, a_contents?.[id], b_contents?.[id]);
  if (!offsets.length) return;
  found.records.set(id, new Set(offsets));
  found.list.push({ partition, node, field: "records", a: textOf(offsets, one, a_contents?.[id]),
    b: textOf(offsets, other, b_contents?.[id]) });
}

/**
 * Those of the offsets that a replica has: a few with their contents, many as ranges.
 * @param {number[]} offsets
 * @param {Replica | undefined} replica
 * @param {Record<string, string> | undefined} contents
 */
function textOf(offsets, replica, contents) {
  const own = offsets.filter((offset) => replica && offset < replica.log_end_offset);
  if (own.length <= MAX_SHOWN) return own.map((offset) => `${offset} ${contents?.[offset] ?? ""}`.trim()).join(" · ") || "-";
  return rangesOf(own).map(rangeText).join(" ");
}

/** @template T @param {[string, (thing: T) => string][]} fields @param {T | undefined} one @param {T | undefined} other */
function compared(fields, one, other) {
  return fields.map(([field, read]) => ({ field, a: one ? read(one) : "-", b: other ? read(other) : "-" })).filter(({ a, b }) => a !== b);
}

/**
 * Offsets at which one has a record that the other has not, or has another one.
 * @param {Replica | undefined} one @param {Replica | undefined} other
 * @param {Record<string, string> | undefined} a @param {Record<string, string> | undefined} b
 */
function otherRecords(one, other, a, b) {
  const [from_a, to_a, from_b, to_b] = [one?.log_start_offset ?? 0, one?.log_end_offset ?? 0, other?.log_start_offset ?? 0,
    other?.log_end_offset ?? 0];
  const offsets = [];
  for (let offset = Math.min(to_a, to_b); offset < Math.max(to_a, to_b); offset++) if (offset >= from_a
    || offset >= from_b) offsets.push(offset);
  if (a && b) for (const offset of Object.keys(a)) if (offset in b && a[offset] !== b[offset] && Number(offset) < Math.min(to_a,
    to_b)) offsets.push(Number(offset));
  return offsets.sort((x, y) => x - y);
}

/** Offsets as ranges, both ends included. @param {number[]} offsets ascending @returns {[number, number][]} */
export function rangesOf(offsets) {
  /** @type {[number, number][]} */
  const ranges = [];
  for (const offset of offsets) {
    const last = ranges.at(-1);
    if (last && last[1] === offset - 1) last[1] = offset;
    else ranges.push([offset, offset]);
  }
  return ranges;
}

/** @param {[number, number]} range */
const rangeText = ([from, to]) => (from === to ? String(from) : `${from}–${to}`);
