// The places that a search finds: partitions, offsets, messages, znodes, nodes, event numbers, instants.
import { t } from "../kit/i18n.js";
import { nodeTarget, partition, select } from "../store/state.js";
import { seek, seekSeq } from "../store/time.js";
import { labelled } from "../kit/words.js";

/** @import { View } from "../../core/view/view.d.ts" */

/** @typedef {{ label: string, go: () => void }} FoundPlace */

const MAX_PLACES = 12;
const MIN_PATH = 3;

/** @param {string} name */
function showPartition(name) {
  partition.value = name;
  select(`partition:${name}`);
}

/**
 * A number alone is an instant when it has a point or an s, else an event, an offset or a correlation id.
 * @param {View} view
 * @param {string} asked
 */
function byNumber(view, asked) {
  /** @type {FoundPlace[]} */
  const places = [];
  const time = /^(\d+(?:\.\d+)?)\s*s?$/.exec(asked)?.[1];
  const number = /^[#@]?(\d+)$/.exec(asked)?.[1];
  const [, name = partition.value, offset] = /^(\S+-\d+)?\s*@?(\d+)$/.exec(asked) ?? [];
  const leader = view.partitions[name]?.leader;
  if (time && /[.s]/.test(asked)) places.push({ label: t("find.instant", { at: time }), go: () => seek(Number(time) * 1e6) });
  if (number) places.push({ label: t("find.event", { n: number }), go: () => seekSeq(Number(number)) });
  if (offset && leader >= 0)
    places.push({ label: t("find.offset", { partition: name, n: offset }), go: () => select(`record:${name}@b${leader}:${offset}`) });
  for (const [id, rpc] of Object.entries(view.rpcs))
    if (String(rpc.correlation) === number) places.push({ label: `#${number} ${labelled(rpc.label)}`, go: () => select(`rpc:${id}`) });
  return places;
}

/** @param {View} view @param {string} asked @returns {FoundPlace[]} */
function byName(view, asked) {
  /** @param {string} name */
  const within = (name) => name.toLowerCase().includes(asked.toLowerCase());
  const rpcs = Object.entries(view.rpcs).filter(([id, { label }]) => [id, label, labelled(label)].some(within));
  const paths = asked.length >= MIN_PATH ? Object.keys(view.zk).filter(within) : [];
  return [
    ...rpcs.map(([id, rpc]) => ({ label: `${labelled(rpc.label)} · ${rpc.source} → ${rpc.destination}`, go: () => select(`rpc:${id}`) })),
    ...Object.keys(view.partitions).filter(within).map((name) => ({ label: t("find.partition", { name }), go: () => showPartition(name) })),
    ...Object.keys(view.nodes).filter(within).map((name) => ({ label: t("find.node", { name }), go: () => select(nodeTarget(name)) })),
    ...paths.map((path) => ({ label: `znode ${path}`, go: () => select(`znode:${path}`) })),
  ];
}

/** The places that a search may mean, the likeliest first. @param {View} view @param {string} text @returns {FoundPlace[]} */
export function findPlaces(view, text) {
  const asked = text.trim();
  return asked ? [...byNumber(view, asked), ...byName(view, asked)].slice(0, MAX_PLACES) : [];
}
