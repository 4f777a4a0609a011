// Where a search leads: partitions, offsets, messages, znodes, nodes, event numbers, instants.
import { t } from "../kit/i18n.js";
import { nodeTarget, partition, select } from "../store/state.js";
import { seek, seekSeq } from "../store/time.js";
import { labelled } from "../kit/words.js";

const PLACES_MOST = 12;
const PATH_LEAST = 3;

function showPartition(name) {
  partition.value = name;
  select(`partition:${name}`);
}

/** A number alone is an instant when it has a point or an s, else an event, an offset or a correlation id. */
function byNumber(view, asked) {
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

function byName(view, asked) {
  const within = (name) => name.toLowerCase().includes(asked.toLowerCase());
  const of = (part, test, place) => Object.entries(view[part]).filter(test).map(([name, value]) => place(name, value));
  return [
    ...of("rpcs", ([id, { label }]) => within(id) || within(label) || within(labelled(label)), (id, rpc) =>
      ({ label: `${labelled(rpc.label)} · ${rpc.source} → ${rpc.destination}`, go: () => select(`rpc:${id}`) })),
    ...of("partitions", ([name]) => within(name), (name) =>
      ({ label: t("find.partition", { name }), go: () => showPartition(name) })),
    ...of("nodes", ([name]) => within(name), (name) =>
      ({ label: t("find.node", { name }), go: () => select(nodeTarget(name)) })),
    ...of("zk", ([path]) => asked.length >= PATH_LEAST && within(path), (path) =>
      ({ label: `znode ${path}`, go: () => select(`znode:${path}`) })),
  ];
}

/** @returns {{label: string, go: () => void}[]} what was asked for may mean these places, the likeliest first */
export function findPlaces(view, text) {
  const asked = text.trim();
  return asked ? [...byNumber(view, asked), ...byName(view, asked)].slice(0, PLACES_MOST) : [];
}
