// Readings of the view about the controller: what waits for its thread, which node watches what, which watches are in flight.

/** @import { Rpc, View } from "./view.d.ts" */

/** What a broker answers to its controller, and what it asks of it. Clients ask it through the same thread. */
const ANSWERS = new Set(["LeaderAndIsr", "StopReplica", "UpdateMetadata"]);
const REQUESTS = new Set(["AlterPartition", "ControlledShutdown", "ElectLeaders", "AlterPartitionReassignments",
  "ListPartitionReassignments"]);

/** Whether the controller's thread will handle a message. Changed configurations are the broker's own affair. @param {Rpc} rpc */
function isForController({ api, kind, fields }) {
  if (kind === "watch") return !fields.some(([name, value]) => name === "path" && String(value).startsWith("/config/"));
  return (kind === "response" ? ANSWERS.has(api) : REQUESTS.has(api));
}

/**
 * Messages to the controller, in the order in which its thread will handle them: what is in the socket of a frozen
 * process first, then by arrival.
 * @param {View} view
 * @returns {{ id: string, rpc: Rpc }[]}
 */
export function controllerQueue(view) {
  const broker = `b${view.controller.broker}`;
  return Object.entries(view.rpcs)
    .filter(([, rpc]) => rpc.destination === broker && isForController(rpc))
    .map(([id, rpc]) => ({ id, rpc }))
    .sort((one, other) => Number(Boolean(other.rpc.held)) - Number(Boolean(one.rpc.held)) || one.rpc.due_us - other.rpc.due_us);
}

/**
 * Watches that have fired and whose messages are still in flight.
 * @param {View} view
 * @returns {{ id: string, path: string, kind: string, broker: string, rpc: Rpc }[]}
 */
export function firedWatches(view) {
  return Object.entries(view.rpcs).filter(([, { kind }]) => kind === "watch").map(([id, rpc]) => {
    const fields = Object.fromEntries(rpc.fields);
    return { id, path: String(fields.path), kind: String(fields.kind), broker: rpc.destination, rpc };
  });
}

/** How far a message has come, 0 to 1; half way while it is held. @param {Rpc} rpc @param {number} at_us */
export function partOfWay({ sent_us, due_us, held }, at_us) {
  if (held) return 0.5;
  return due_us > sent_us ? Math.min(1, Math.max(0, (at_us - sent_us) / (due_us - sent_us))) : 1;
}

/** How many watches a node has set. @param {View} view @param {string} node */
export function watchesOf(view, node) {
  let n = 0;
  for (const watchers of Object.values(view.watches)) n += watchers[node]?.length ?? 0;
  return n;
}

/** How many are in each state of a state machine; `first` is where those are that the controller does not list.
 * @param {Record<string, string>} states @returns {Record<string, number>} */
export function countByState(states) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const state of Object.values(states)) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
