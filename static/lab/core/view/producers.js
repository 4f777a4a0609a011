// Readings of the view about producers: the batches in the accumulator, those in flight, and the memory they take.

import { byName } from "./selectors.js";

/** @import { ProducerBatch, ProducerNode } from "./view.d.ts" */

/**
 * @typedef {ProducerBatch & { sequence: number }} Batch
 * @typedef {{ request: number, batches: Batch[] }} Slot
 */

/** @param {ProducerNode} producer @returns {Batch[]} the oldest first */
export function batchesOf(producer) {
  return Object.entries(producer.batches).map(([sequence, batch]) => ({ ...batch, sequence: Number(sequence) }))
    .sort((one, other) => one.sequence - other.sequence);
}

/** The batches of a producer that wait, by their partitions, the oldest first; a partition that was written to before keeps its place.
 * @param {ProducerNode} producer @returns {{ partition: string, batches: Batch[] }[]} */
export function queuesOf(producer) {
  /** @type {Record<string, Batch[]>} */
  const queues = Object.fromEntries(Object.keys(producer.sequences).map((partition) => [partition, []]));
  for (const batch of batchesOf(producer)) (queues[batch.partition] ??= []).push(batch);
  return Object.keys(queues).sort(byName).map((partition) =>
    ({ partition, batches: queues[partition].filter(({ state }) => state !== "sent") }));
}

/** The requests in flight to each leader. @param {ProducerNode} producer @returns {{ leader: string, slots: Slot[] }[]} */
export function slotsOf(producer) {
  /** @type {Record<string, Record<string, Batch[]>>} */
  const leaders = {};
  for (const batch of batchesOf(producer)) {
    if (batch.state === "sent") ((leaders[batch.leader] ??= {})[batch.request] ??= []).push(batch);
  }
  return Object.keys(leaders).sort(byName).map((leader) => ({
    leader, slots: Object.entries(leaders[leader]).map(([request, batches]) => ({ request: Number(request), batches })),
  }));
}

/** How many bytes of buffer.memory are taken: each batch takes batch.size, or what it needs if that is more.
 * @param {ProducerNode} producer @param {number} batchSize */
export const usedMemory = (producer, batchSize) => Object.values(producer.batches)
  .reduce((sum, { size }) => sum + Math.max(batchSize, size), 0);

/** How much of what a batch waits for has passed, 0 to 1; null when that time is unknown.
 * @param {ProducerBatch} batch @param {number} lingerUs @param {number} at_us */
export function waitedPart({ state, since_us, due_us }, lingerUs, at_us) {
  if (!due_us) return null;
  const begun = state === "linger" && lingerUs ? due_us - lingerUs : since_us;
  return due_us > begun ? Math.min(1, Math.max(0, (at_us - begun) / (due_us - begun))) : 1;
}
