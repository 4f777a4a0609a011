// Readings of the view about consumer groups: partition owners, lag, and the last commits.

import { byName, leaderReplica, partitionNames } from "./selectors.js";
import { zookeeperGroups } from "./zookeeper_groups.js";

/** @import { Group, View } from "./view.d.ts" */

/**
 * One cell of the table of an assignment: "owned", "was" (another has had it before), or "".
 * @typedef {{ id: string, client: string, instance: string, isLeader: boolean, cells: ("owned" | "was" | "")[] }} MemberRow
 * @typedef {Pick<Group, "group" | "members" | "offsets" | "previous" | "leader">} Owners a group, or one that ZooKeeper holds
 * @typedef {{ partition: string, position: number | null, committed: number | null, start: number, last_stable_offset: number,
 *   high_watermark: number, end: number, lag: number | null }} Lag
 * The input of the assignors, and the plan that one of them returns.
 * @typedef {{ generation_id: number, partitions: Record<string, number>, members: { id: string, instance: string, topics:
 *   string[], owned: string[] }[],
 *   assignors: Record<string, string> }} GroupFacts
 * @typedef {{ assignor: string, assignment: Record<string, string[]>, rounds: number, moved: string[], stopped: string[] }} Plan
 */

/**
 * The keys of the groups, by name; if two coordinators hold a group, the current one comes first.
 * @param {View} view
 * @returns {string[]}
 */
export function groupNames(view) {
  return Object.keys(view.groups).sort((one, other) => byName(view.groups[one].group, view.groups[other].group)
    || Number(isReplaced(view, one)) - Number(isReplaced(view, other)));
}

/** Whether a group's coordinator is no longer the leader of the group's partition. @param {View} view @param {string} key */
export function isReplaced(view, key) {
  const { partition, coordinator } = view.groups[key];
  return view.partitions[partition] !== undefined && `b${view.partitions[partition].leader}` !== coordinator;
}

/**
 * The partitions of a group: the assigned and committed ones, and all others of their topics and of the topics that members subscribe to.
 * @param {View} view
 * @param {Owners} group
 * @returns {string[]}
 */
export function partitionsOf(view, group) {
  const named = [...Object.values(group.members).flatMap(({ assignment }) => assignment), ...Object.keys(group.offsets)];
  const wanted = Object.values(group.members).flatMap(({ topics }) => topics);
  const topics = new Set([...wanted, ...named.map((name) => name.slice(0, name.lastIndexOf("-")))]);
  return [...new Set([...named, ...[...topics].flatMap((topic) => partitionNames(view, topic))])].sort(byName);
}

/** @param {Owners} group @param {string[]} partitions the columns @returns {MemberRow[]} */
export function memberRows(group, partitions) {
  return Object.entries(group.members).map(([id, { client, instance, assignment }]) => ({
    id, client, instance, isLeader: id === group.leader,
    cells: partitions.map((name) => (assignment.includes(name) ? "owned" : group.previous[name] === client ? "was" : "")),
  }));
}

/**
 * A replica's last stable offset, where read_committed consumers stop.
 * @param {{ first_unstable_offset: number, high_watermark: number }} replica
 */
export const lastStableOffset = ({ first_unstable_offset: unstable, high_watermark }) => (unstable < 0
  ? high_watermark : Math.min(unstable, high_watermark));

/** How far a group is in each partition. @param {View} view @param {Owners} group @param {string[]} partitions @returns {Lag[]} */
export function lagRows(view, group, partitions) {
  return partitions.map((name) => {
    const replica = view.partitions[name] && leaderReplica(view, name);
    const committed = group.offsets[name] ?? null;
    const high_watermark = replica ? replica.high_watermark : 0;
    return {
      partition: name, committed, position: positionOf(view, group, name), start: replica ? replica.log_start_offset : 0,
      last_stable_offset: replica ? lastStableOffset(replica) : 0, high_watermark, end: replica ? replica.log_end_offset : 0,
      lag: committed === null ? null : Math.max(0, high_watermark - committed),
    };
  });
}

/** The number of unread records in the partitions of a member. @param {View} view @param {import("./view.d.ts").ConsumerNode} node */
export function memberLag(view, node) {
  const { assignment = [], positions, settings } = node;
  const group = assignment.every((name) => name in positions) ? undefined : groupNamed(view, settings["group.id"]);
  const behind = assignment.map((name) => {
    const position = positions[name] ?? group?.offsets[name];
    return position !== undefined && view.partitions[name] ? (leaderReplica(view, name)?.high_watermark ?? 0) - position : 0;
  });
  return behind.reduce((sum, lag) => sum + Math.max(0, lag), 0);
}

/** A group, from its coordinator or from ZooKeeper. @param {View} view @param {string} name @returns {Owners | undefined} */
function groupNamed(view, name) {
  const key = Object.keys(view.groups).find((each) => view.groups[each].group === name && !isReplaced(view, each));
  if (key !== undefined) return view.groups[key];
  return `/consumers/${name}` in view.zk ? zookeeperGroups(view).find(({ group }) => group === name) : undefined;
}

/**
 * What the owner of a partition reads next, if it is a consumer of the lab: until it has read something, what the group has committed.
 * @param {View} view
 * @param {Owners} group
 * @param {string} name
 */
function positionOf(view, group, name) {
  const owner = Object.values(group.members).find(({ assignment }) => assignment.includes(name));
  const node = owner && view.nodes[owner.client];
  return node?.kind === "consumer" ? node.positions[name] ?? group.offsets[name] ?? null : null;
}

/** A group as an assignor sees it. @param {View} view @param {Group} group @returns {GroupFacts} */
export function factsForAssignors(view, group) {
  const members = Object.entries(group.members)
    .map(([id, { instance, topics, assignment }]) => ({ id, instance, topics, owned: assignment }));
  const topics = new Set(members.flatMap(({ topics: wanted }) => wanted).filter((topic) => topic in view.topics));
  return { generation_id: group.generation_id, partitions: Object.fromEntries([...topics].map((topic) =>
    [topic, view.topics[topic].partitions])), members, assignors: view.assignors };
}

/** The last value of each key that a group's partition of __consumer_offsets holds; a value of null is a tombstone.
 * @param {Group} group @returns {{ partition: string, value: [number, number, string, number] | null }[]} */
export function lastCommits({ commits }) {
  return Object.keys(commits).sort(byName).map((partition) => ({ partition, value: commits[partition] }));
}

/** How much of the time that a state waits has passed, 0 to 1; null when it does not wait. @param {Group} group @param {number} at_us */
export function waited({ since_us, due_us }, at_us) {
  return due_us > since_us ? Math.min(1, Math.max(0, (at_us - since_us) / (due_us - since_us))) : null;
}
