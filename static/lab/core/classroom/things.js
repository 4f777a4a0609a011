// The things of a picture by name: the answers to a poll that asks for one, for those who choose from a list.

import { byName, internalLast, nodesByKind, partitionNames } from "../view/selectors.js";

/** @import { Target } from "../view/selectors.js" */
/** @import { View } from "../view/view.d.ts" */
/** @import { Tile } from "./class.d.ts" */

/** @typedef {{ type: Target["type"], ids: string[] }} Things of one kind */

/** The records of each replica that are listed: the last ones. */
const RECORDS = 12;

/** @param {string} replica @param {number} first @param {number} end */
function recordsOf(replica, first, end) {
  const from = Math.max(first, end - RECORDS);
  return Array.from({ length: Math.max(0, end - from) }, (_, place) => `${replica}:${from + place}`);
}

/** What there is of each kind. @param {Things[]} all */
const known = (all) => all.filter(({ ids }) => ids.length);

/**
 * The things in the picture of a lab.
 * @param {View} view
 * @param {string} partition whose replicas and records are listed
 * @param {string[]} links that are drawn
 * @returns {Things[]}
 */
export function thingsOf(view, partition, links) {
  const nodes = nodesByKind(view);
  const topic = view.partitions[partition]?.topic ?? null;
  const replicas = Object.entries(view.replicas).filter(([, one]) => one.partition === partition).sort(([a], [b]) => byName(a, b));
  return known([
    { type: "broker", ids: nodes.broker },
    { type: "client", ids: [...nodes.producer, ...nodes.consumer, ...nodes.client, ...nodes.shell] },
    { type: "partition", ids: partitionNames(view, topic) },
    { type: "replica", ids: replicas.map(([id]) => id) },
    { type: "record", ids: replicas.flatMap(([id, one]) => recordsOf(id, one.log_start_offset, one.log_end_offset)) },
    { type: "rpc", ids: Object.keys(view.rpcs).sort(byName) },
    { type: "parked", ids: Object.keys(view.parked).sort(byName) },
    { type: "link", ids: links },
    { type: "znode", ids: nodes.zookeeper.length ? ["/"] : [] },
  ]);
}

/**
 * Things with some that may not be among them, which come last in their kind.
 * @param {Things[]} things
 * @param {Target[]} others
 * @returns {Things[]}
 */
export function withOthers(things, others) {
  const all = new Map(things.map(({ type, ids }) => [type, [...ids]]));
  for (const { type, id } of others) {
    const ids = all.get(type) ?? [];
    all.set(type, ids.includes(id) ? ids : [...ids, id]);
  }
  return [...all].map(([type, ids]) => ({ type, ids }));
}

/**
 * The things in the pictures of learners' labs, for a page that has these alone.
 * @param {Tile[]} tiles
 * @returns {Things[]}
 */
export function thingsOfTiles(tiles) {
  /** @type {Set<string>} */
  const brokers = new Set();
  /** @type {Map<string, { first: number, end: number }>} */
  const replicas = new Map();
  for (const [, , , partition, rows] of tiles) {
    for (const [broker, , first, end] of rows) {
      brokers.add(`b${broker}`);
      const id = `${partition}@b${broker}`;
      const { first: a = first, end: b = end } = replicas.get(id) ?? {};
      replicas.set(id, { first: Math.min(a, first), end: Math.max(b, end) });
    }
  }
  const ids = [...replicas.keys()].sort(byName);
  return known([
    { type: "broker", ids: [...brokers].sort(byName) },
    { type: "partition", ids: [...new Set(ids.map((id) => id.slice(0, id.lastIndexOf("@"))))].sort(internalLast) },
    { type: "replica", ids },
    { type: "record", ids: ids.flatMap((id) => {
      const { first, end } = /** @type {{ first: number, end: number }} */ (replicas.get(id));
      return recordsOf(id, first, end);
    }) },
  ]);
}
