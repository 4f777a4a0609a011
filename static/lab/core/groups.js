// Readings of the view about consumer groups and producers: who owns what, how far behind, what waits in a producer.

import { byName, leaderReplica, partitionNames } from "./selectors.js";

/** @import { Group, ProducerBatch, ProducerNode, View } from "./view.d.ts" */

/**
 * One cell of the table of an assignment: "owned", "was" (another has had it before), or "".
 * @typedef {{ id: string, client: string, instance: string, isLeader: boolean, cells: ("owned" | "was" | "")[] }} MemberRow
 * @typedef {{ partition: string, committed: number | null, start: number, high_watermark: number, end: number, lag: number | null }} Lag
 */

/** The keys of the groups, by name; of two coordinators the one that the cluster knows comes first. @param {View} view @returns {string[]} */
export function groupNames(view) {
  return Object.keys(view.groups).sort((one, other) => byName(view.groups[one].group, view.groups[other].group)
    || Number(isReplaced(view, one)) - Number(isReplaced(view, other)));
}

/** Whether a group's coordinator is no longer the leader of the partition that keeps it. @param {View} view @param {string} key */
export function isReplaced(view, key) {
  const { partition, coordinator } = view.groups[key];
  return view.partitions[partition] !== undefined && `b${view.partitions[partition].leader}` !== coordinator;
}

/** The partitions that a group is about: those assigned, those committed, and all others of their topics. @param {View} view @param {Group} group @returns {string[]} */
export function partitionsOf(view, group) {
  const named = [...Object.values(group.members).flatMap(({ assignment }) => assignment), ...Object.keys(group.offsets)];
  const topics = new Set(named.map((name) => name.slice(0, name.lastIndexOf("-"))));
  return [...new Set([...named, ...[...topics].flatMap((topic) => partitionNames(view, topic))])].sort(byName);
}

/** @param {Group} group @param {string[]} partitions the columns @returns {MemberRow[]} */
export function memberRows(group, partitions) {
  return Object.entries(group.members).map(([id, { client, instance, assignment }]) => ({
    id, client, instance, isLeader: id === group.leader,
    cells: partitions.map((name) => (assignment.includes(name) ? "owned" : group.previous[name] === client ? "was" : "")),
  }));
}

/** How far a group is behind in each partition. @param {View} view @param {Group} group @param {string[]} partitions @returns {Lag[]} */
export function lagRows(view, group, partitions) {
  return partitions.map((name) => {
    const replica = view.partitions[name] && leaderReplica(view, name);
    const committed = group.offsets[name] ?? null;
    const [start, high_watermark, end] = replica ? [replica.log_start_offset, replica.high_watermark, replica.log_end_offset] : [0, 0, 0];
    return { partition: name, committed, start, high_watermark, end, lag: committed === null ? null : Math.max(0, high_watermark - committed) };
  });
}

/** How much of the time that a state waits has passed, 0 to 1; null when it waits for nobody. @param {Group} group @param {number} at_us */
export function waited({ since_us, due_us }, at_us) {
  return due_us > since_us ? Math.min(1, Math.max(0, (at_us - since_us) / (due_us - since_us))) : null;
}

/** The batches of a producer by their partitions, the oldest first. @param {ProducerNode} producer @returns {{ partition: string, batches: (ProducerBatch & { sequence: number })[] }[]} */
export function queuesOf(producer) {
  /** @type {Record<string, (ProducerBatch & { sequence: number })[]>} */
  const queues = {};
  for (const [sequence, batch] of Object.entries(producer.batches)) (queues[batch.partition] ??= []).push({ ...batch, sequence: Number(sequence) });
  return Object.keys(queues).sort(byName).map((partition) => ({
    partition, batches: queues[partition].sort((one, other) => one.sequence - other.sequence),
  }));
}
