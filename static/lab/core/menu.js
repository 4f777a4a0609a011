// What can be done to a thing of the picture: lines of the shell, offered by the menu of that thing.

import { nodesByKind } from "./selectors.js";

/** @import { Target } from "./selectors.js" */
/** @import { View } from "./view.d.ts" */

/** @typedef {{ key: string, values: Record<string, unknown>, line: string, harm: boolean }} MenuItem text key, and the line it sends */

/** @param {View} view @param {Target} target @returns {MenuItem[]} */
export function menuFor(view, { type, id }) {
  switch (type) {
    case "broker":
      return brokerMenu(view, id);
    case "link":
      return linkMenu(view, id);
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
  if (node.state !== "down") items.push(item("kill", `broker kill ${n}`, { harm: true }), item("powerloss", `broker powerloss ${n}`, { harm: true }));
  const { broker, zookeeper } = nodesByKind(view);
  for (const other of [...broker, ...zookeeper]) if (other !== id) items.push(...linkMenu(view, id < other ? `${id}|${other}` : `${other}|${id}`));
  return items;
}

/** @param {View} view @param {string} id */
function linkMenu(view, id) {
  const ends = id.split("|");
  if (!ends.every((end) => view.nodes[end]?.kind === "broker" || view.nodes[end]?.kind === "zookeeper")) return [];
  const [a, b] = ends.map((end) => end.replace(/^b/, ""));
  const values = { a: nameOf(ends[0]), b: nameOf(ends[1]) };
  return [view.links[id] ? item("restore", `link restore ${a} ${b}`, { values }) : item("cut", `link cut ${a} ${b}`, { values })];
}

/** @param {string} end */
function nameOf(end) {
  return end === "zk" ? "ZooKeeper" : end;
}

/** @param {View} view @param {string} id */
function clientMenu(view, id) {
  const node = view.nodes[id];
  if (node?.kind === "consumer") return [item("unfollow", `consumer unfollow ${id}`)];
  if (node?.kind !== "producer") return [];
  const items = [];
  if (node.partition) {
    items.push(item("send", `producer send ${id} ${node.partition} key:value`), item("burst", `producer burst ${id} ${node.partition} 100`));
    items.push(node.rate ? item("stream_stop", `producer stream ${id} ${node.partition} 0`) : item("stream", `producer stream ${id} ${node.partition} 10`));
  }
  return [...items, item("close", `producer close ${id}`)];
}

/** @param {string} id */
function partitionMenu(id) {
  return [item("log", `log describe ${id}`), item("hw", `hw ${id}`), item("segments", `segments ${id}`)];
}
