// Selectors of the view about transactions: transactional ids, open transactions of a partition, aborted ones.

import { lastStableOffset } from "./groups.js";
import { byName, leaderReplica, nodesByKind } from "./selectors.js";

/** @import { Replica, Transaction, View } from "./view.d.ts" */

/**
 * @typedef {{ partition: string, start: number, end: number, high_watermark: number, last_stable_offset: number,
 *   markers: Replica["markers"], aborted: Replica["markers"] }} TransactionalLog
 */

/**
 * The keys of the transactional ids by name; of two coordinators the one that the cluster knows comes first.
 * @param {View} view
 * @returns {string[]}
 */
export function transactionKeys(view) {
  return Object.keys(view.transactions).sort((one, other) => byName(view.transactions[one].transactional_id,
    view.transactions[other].transactional_id)
    || Number(isReplaced(view, one)) - Number(isReplaced(view, other)));
}

/** Whether a coordinator is no longer the leader of the id's partition. @param {View} view @param {string} key */
export function isReplaced(view, key) {
  const { partition, coordinator } = view.transactions[key];
  return view.partitions[partition] !== undefined && `b${view.partitions[partition].leader}` !== coordinator;
}

/** The lab's producers with a transactional id. @param {View} view @param {string} id @returns {string[]} */
export function producersOf(view, id) {
  return nodesByKind(view).producer.filter((name) => {
    const node = view.nodes[name];
    return node.kind === "producer" && node.settings["transactional.id"] === id;
  });
}

/**
 * The part of the transaction's time that has passed, 0 to 1; null while none is open.
 * @param {View} view
 * @param {Transaction} transaction
 * @param {number} at_us
 */
export function openPart(view, { start_ms, timeout_ms, state }, at_us) {
  if (start_ms < 0 || !timeout_ms || state !== "Ongoing") return null;
  const openMs = view.run.start_wall_ms + at_us / 1000 - start_ms;
  return Math.min(1, Math.max(0, openMs / timeout_ms));
}

/** The logs that have held transactions: what readers of committed records see of them, the markers, the index of what was aborted.
 * @param {View} view @param {string[]} named partitions of an open transaction, which come first @returns {TransactionalLog[]} */
export function transactionalLogs(view, named) {
  const others = Object.keys(view.partitions).filter((name) => !named.includes(name) && leaderReplica(view, name)?.markers.length);
  return [...[...named].sort(byName), ...others.sort(byName)].flatMap((partition) => {
    const replica = view.partitions[partition] && leaderReplica(view, partition);
    if (!replica) return [];
    const { log_start_offset: start, log_end_offset: end, high_watermark } = replica;
    const markers = replica.markers.filter(([offset]) => offset >= start);
    return [{
      partition, start, end, high_watermark, last_stable_offset: lastStableOffset(replica), markers,
      aborted: markers.filter(([, result, , , first]) => result === "ABORT" && first >= 0),
    }];
  });
}
