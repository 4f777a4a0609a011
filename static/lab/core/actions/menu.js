// What can be done to a thing of the picture: lines of the shell, offered by the menu of that thing.

import { faultsOfLink, linkId, nodesByKind } from "../view/selectors.js";

/** @import { Target } from "../view/selectors.js" */
/** @import { View } from "../view/view.d.ts" */

/** What the menus propose; the console takes any other. */
const LATENCY = "200ms";
const FSYNC = "20ms";
const PERCENT = 20;
const LINKED = new Set(["broker", "zookeeper", "producer", "consumer", "client"]);

/** @typedef {{ key: string, values: Record<string, unknown>, line: string, harm: boolean }} MenuItem text key, and the line it sends */

/** @param {View} view @param {Target} target @returns {MenuItem[]} */
export function menuFor(view, { type, id }) {
  switch (type) {
    case "broker":
      return brokerMenu(view, id);
    case "link":
      return linkMenu(view, id);
    case "rpc":
      return messageMenu(view, id);
    case "client":
      return clientMenu(view, id);
    case "partition":
      return partitionMenu(id);
    case "replica":
    case "record":
      return partitionMenu(id.slice(0, id.lastIndexOf("@")));
    case "znode":
      return [item("tree", `zk tree ${id}`), item("get", `zk get ${id}`)];
    default:
      return [];
  }
}

/** @param {string} name @param {string} line @param {{ harm?: boolean, values?: Record<string, unknown> }} [options] @returns {MenuItem} */
function item(name, line, { harm = false, values = {} } = {}) {
  return { key: `draw.menu.${name}`, values, line, harm };
}

/** @param {View} view @param {string} id */
function brokerMenu(view, id) {
  const node = view.nodes[id];
  if (node?.kind !== "broker") return [];
  const n = node.broker_id;
  const items = [];
  if (node.state === "down") items.push(item("start", `broker start ${n}`));
  if (node.state === "frozen") items.push(item("thaw", `broker thaw ${n}`));
  if (node.state === "up") items.push(item("freeze", `broker freeze ${n}`), item("stop", `broker stop ${n}`));
  if (node.state !== "down") items.push(item("kill", `broker kill ${n}`, { harm: true }),
    item("powerloss", `broker powerloss ${n}`, { harm: true }));
  if (node.session !== null) items.push(item("expire", `session expire ${n}`, { harm: true }));
  items.push(node.disk_latency_us ? item("disk_fast", `disk slow ${n} 0`) : item("disk_slow", `disk slow ${n} ${LATENCY}`,
    { values: { time: LATENCY } }));
  items.push(node.fsync_latency_us ? item("fsync_fast", `disk fsync ${n} 0`) : item("fsync_slow", `disk fsync ${n} ${FSYNC}`,
    { values: { time: FSYNC } }));
  const { broker, zookeeper } = nodesByKind(view);
  for (const other of [...broker, ...zookeeper]) if (other !== id) items.push(...linkMenu(view, linkId(id, other)).slice(0, 1));
  return items;
}

/** @param {View} view @param {string} id */
function linkMenu(view, id) {
  const ends = id.split("|");
  if (!ends.every((end) => LINKED.has(view.nodes[end]?.kind))) return [];
  const [a, b] = ends.map((end) => end.replace(/^b(?=\d+$)/, ""));
  const values = { a: nameOf(ends[0]), b: nameOf(ends[1]), time: LATENCY, percent: PERCENT };
  /** @param {string} name @param {string} line */
  const offer = (name, line) => item(name, line, { values });
  const cut = view.links[id] ? [offer("restore", `link restore ${a} ${b}`)] : [offer("cut", `link cut ${a} ${b}`),
    offer("cut_there", `link cut ${a} ${b} --one-way`), offer("cut_back", `link cut ${b} ${a} --one-way`)];
  const faults = faultsOfLink(view, id);
  /** @param {"latency_us" | "loss_percent" | "reorder_percent"} field */
  const has = (field) => faults.some((fault) => fault[field] > 0);
  const latency = has("latency_us") ? offer("latency_end", `link latency ${a} ${b} 0`)
    : offer("latency", `link latency ${a} ${b} ${LATENCY}`);
  // What ZooKeeper sends comes in order or not at all.
  if (ends.some((end) => view.nodes[end].kind === "zookeeper")) return [...cut, latency];
  return [...cut, latency,
    has("loss_percent") ? offer("loss_end", `link loss ${a} ${b} 0`) : offer("loss", `link loss ${a} ${b} ${PERCENT}`),
    has("reorder_percent") ? offer("reorder_end", `link reorder ${a} ${b} 0`) : offer("reorder", `link reorder ${a} ${b} ${PERCENT}`)];
}

/**
 * One message in flight. Messages of ZooKeeper's watches can be neither dropped nor duplicated; a blocked one cannot be delayed
 * for.
 * @param {View} view
 * @param {string} id
 */
function messageMenu(view, id) {
  const rpc = view.rpcs[id];
  if (!rpc) return [];
  const items = [item("deliver", `message deliver ${id}`)];
  if (!rpc.held) items.push(item("delay", `message delay ${id} ${LATENCY}`, { values: { time: LATENCY } }));
  if (!rpc.held && rpc.kind !== "watch") items.push(item("duplicate", `message duplicate ${id}`));
  if (rpc.kind !== "watch") items.push(item("drop", `message drop ${id}`, { harm: true }));
  return items;
}

/** @param {string} end */
function nameOf(end) {
  return end === "zk" ? "ZooKeeper" : end;
}

/** @param {View} view @param {string} id */
function clientMenu(view, id) {
  const node = view.nodes[id];
  if (node?.kind === "consumer") {
    if (node.member) return [...(node.state === "frozen" ? [item("thaw", `consumer thaw ${id}`)]
      : [item("commit", `consumer commit ${id}`), item("freeze", `consumer freeze ${id}`), item("leave", `consumer stop ${id}`)]),
      item("kill_member", `consumer kill ${id}`, { harm: true })];
    return [item("unfollow", `consumer unfollow ${id}`)];
  }
  if (node?.kind !== "producer") return [];
  const items = [];
  if (node.partition) {
    items.push(item("send", `producer send ${id} ${node.partition} key:value`),
      item("burst", `producer burst ${id} ${node.partition} 100`));
    items.push(node.rate ? item("stream_stop", `producer stream ${id} ${node.partition} 0`)
      : item("stream", `producer stream ${id} ${node.partition} 10`));
  }
  return [...items, item("close", `producer close ${id}`)];
}

/** @param {string} id */
function partitionMenu(id) {
  return [item("log", `log describe ${id}`), item("hw", `hw ${id}`), item("segments", `segments ${id}`)];
}
