// Positions of the nodes and links of the topology: a pure function of the nodes and of the size.

import { linkId, nodesByKind } from "../view/selectors.js";

/** @import { View } from "../view/view.d.ts" */

/**
 * @typedef {{ x: number, y: number, w: number, h: number }} Box
 * @typedef {{ id: string, a: string, b: string, kind: "broker" | "client" | "zk" | "shell" }} LinkPlace
 * @typedef {{ width: number, height: number, nodes: Map<string, Box>, links: LinkPlace[] }} TopologyLayout
 * @typedef {[number, number]} Point
 */

/** Narrower hosts get this picture scaled down. */
export const MIN_W = 760;
/** Still narrower ones, as phones are, get a picture of their own, which is higher. */
const NARROW_W = 560;
const NARROW_MIN_W = 350;
const MARGIN = 10;
const CLIENT_W = 122;
const ZK_W = 138;
const ZK_H = 22;
const ZK_AIR = 8;
/** As wide as the shell: its label must fit, even where the brokers leave no room for it. */
const ZK_MIN_W = 84;
/** The legend covers the upper corners. */
const TOP = 8;
const NARROW_GAP = 6;
const NARROW_BROKER_W = 128;
const NARROW_CLIENTS_H = 108;
const LEGEND_H = 38;

/** How wide the picture is for a host's width. @param {number} host */
export function topologyWidth(host) {
  return Math.max(isNarrow(host) ? NARROW_MIN_W : MIN_W, Math.round(host));
}

/** @param {number} width */
export function isNarrow(width) {
  return width < NARROW_W;
}

/** The height that the picture wants for a number of brokers and its width. @param {number} brokers @param {number} width */
export function topologyHeight(brokers, width) {
  if (isNarrow(width)) return brokers <= 3 ? 300 : brokers === 4 ? 360 : 410;
  return brokers <= 3 ? 208 : brokers === 4 ? 250 : 280;
}

/**
 * @param {View} view
 * @param {number} width
 * @param {number} height
 * @returns {TopologyLayout}
 */
export function layoutTopology(view, width, height) {
  const kinds = nodesByKind(view);
  /** @type {Map<string, Box>} */
  const nodes = new Map();
  const consumers = [...kinds.consumer, ...kinds.client];
  if (isNarrow(width)) {
    placeBrokersNarrow(kinds.broker, width, height, kinds.producer.length + consumers.length > 0, nodes);
    const w = (width - NARROW_BROKER_W - 4 * NARROW_GAP) / 2;
    placeColumn(kinds.producer, NARROW_GAP, w, NARROW_CLIENTS_H, nodes);
    placeColumn(consumers, width - NARROW_GAP - w, w, NARROW_CLIENTS_H, nodes);
  } else {
    placeBrokers(kinds.broker, width, height, nodes);
    placeColumn(kinds.producer, MARGIN, CLIENT_W, height - LEGEND_H - ZK_H - 16, nodes);
    placeColumn(consumers, width - MARGIN - CLIENT_W, CLIENT_W, height - LEGEND_H - ZK_H - 16, nodes);
  }
  const zk_y = height - ZK_H - 6;
  const zk_w = Math.min(ZK_W, roomBetween(kinds.broker, zk_y, width, nodes));
  for (const id of kinds.zookeeper) nodes.set(id, { x: (width - zk_w) / 2, y: zk_y, w: zk_w, h: ZK_H });
  for (const id of kinds.shell) nodes.set(id, { x: MARGIN, y: zk_y, w: 84, h: ZK_H });
  return { width, height, nodes, links: linksOf(view, kinds) };
}

/**
 * The width between the brokers at the height of ZooKeeper, with some air on both sides; at least `ZK_MIN_W`.
 * @param {string[]} brokers @param {number} y @param {number} width @param {Map<string, Box>} nodes
 */
function roomBetween(brokers, y, width, nodes) {
  const beside = brokers.map((id) => /** @type {Box} */ (nodes.get(id))).filter((box) => box.y + box.h > y);
  const sides = beside.map((box) => (box.x + box.w / 2 < width / 2 ? width / 2 - box.x - box.w : box.x - width / 2));
  return Math.max(ZK_MIN_W, 2 * (Math.min(width / 2, ...sides) - ZK_AIR));
}

/**
 * One in the middle, two side by side, three as a triangle, four as a square, more on a ring.
 * @param {string[]} ids
 * @param {number} width
 * @param {number} height
 * @param {Map<string, Box>} nodes
 */
function placeBrokers(ids, width, height, nodes) {
  const n = ids.length;
  const w = n <= 3 ? 166 : n === 4 ? 160 : 132;
  const h = n <= 4 ? 60 : 48;
  const left = MARGIN + CLIENT_W + 12;
  const half = (width - 2 * left - w) / 2;
  const cx = width / 2;
  const bottom = height - h - 8;
  const spread = n <= 3 ? Math.min(173, half) : half;
  /** @type {Point[]} centres */
  let centres = [];
  if (n === 1) centres = [[cx, (height - ZK_H) / 2]];
  else if (n === 2) centres = [[cx - spread, (height - ZK_H) / 2 + 8], [cx + spread, (height - ZK_H) / 2 + 8]];
  else if (n === 3) centres = [[cx - spread, bottom + h / 2], [cx, TOP + h / 2], [cx + spread, bottom + h / 2]];
  else if (n === 4) {
    const x = Math.min(spread, 190);
    centres = [[cx - x, bottom - 18 + h / 2], [cx - x, LEGEND_H + h / 2], [cx + x, LEGEND_H + h / 2], [cx + x, bottom - 18 + h / 2]];
  } else {
    const cy = (TOP + height - ZK_H - 14) / 2;
    const ry = cy - TOP - h / 2;
    const rx = Math.min(half, 215);
    centres = ids.map((_, i) => {
      const angle = -Math.PI / 2 + (2 * Math.PI * i) / n;
      return [cx + rx * Math.cos(angle), cy + ry * Math.sin(angle)];
    });
  }
  ids.forEach((id, i) => nodes.set(id, { x: Math.round(centres[i][0] - w / 2), y: Math.round(centres[i][1] - h / 2), w, h }));
}

/**
 * Below the clients, which share the upper part with the first broker; two, and what is more than four on a ring.
 * @param {string[]} ids
 * @param {number} width
 * @param {number} height
 * @param {boolean} clients are there any
 * @param {Map<string, Box>} nodes
 */
function placeBrokersNarrow(ids, width, height, clients, nodes) {
  const n = ids.length;
  const w = n <= 4 ? NARROW_BROKER_W : n === 5 ? 104 : 92;
  const h = n <= 4 ? 60 : 48;
  const left = NARROW_GAP;
  const right = width - NARROW_GAP - w;
  const middle = (width - w) / 2;
  const top = LEGEND_H + 8;
  const bottom = height - ZK_H - 22 - h;
  /** @type {Point[]} corners */
  let corners = [];
  if (n === 1) corners = [[middle, bottom]];
  else if (n === 2) corners = [[left, bottom], [right, bottom]];
  else if (n === 3) corners = [[left, bottom], [middle, top], [right, bottom]];
  else if (n === 4) corners = [[left, bottom], [left, bottom - h - 34], [right, bottom - h - 34], [right, bottom]];
  else {
    const ring_top = clients ? top + NARROW_CLIENTS_H : top;
    corners = ids.map((_, i) => {
      const angle = -Math.PI / 2 + (2 * Math.PI * i) / n;
      return [middle + (middle - left) * Math.cos(angle), (ring_top + bottom) / 2 + ((bottom - ring_top) / 2) * Math.sin(angle)];
    });
  }
  ids.forEach((id, i) => nodes.set(id, { x: Math.round(corners[i][0]), y: Math.round(corners[i][1]), w, h }));
}

/**
 * Clients in a column; they get lower when there are many.
 * @param {string[]} ids
 * @param {number} x
 * @param {number} w
 * @param {number} room
 * @param {Map<string, Box>} nodes
 */
function placeColumn(ids, x, w, room, nodes) {
  const pitch = Math.min(62, room / Math.max(1, ids.length));
  const h = Math.max(14, Math.min(54, pitch - 6));
  ids.forEach((id, i) => nodes.set(id, { x, y: Math.round(LEGEND_H + 8 + i * pitch), w, h }));
}

/** @param {View} view @param {ReturnType<typeof nodesByKind>} kinds @returns {LinkPlace[]} */
export function linksOf(view, kinds) {
  /** @type {LinkPlace[]} */
  const links = [];
  /** @param {string} a @param {string} b @param {LinkPlace["kind"]} kind */
  const add = (a, b, kind) => links.push({ id: linkId(a, b), a, b, kind });
  kinds.broker.forEach((a, i) => {
    for (const zk of kinds.zookeeper) add(a, zk, "zk");
    for (const shell of kinds.shell) add(shell, a, "shell");
    for (const client of [...kinds.producer, ...kinds.consumer]) add(client, a, "client");
    for (const b of kinds.broker.slice(i + 1)) add(a, b, "broker");
  });
  for (const client of kinds.client) add(client, view.nodes[client].settings?.broker ?? "", "client");
  return links;
}

/** @param {Box} box @returns {Point} */
export function centre({ x, y, w, h }) {
  return [x + w / 2, y + h / 2];
}

/** Where the line from a box's centre to a point leaves the box. @param {Box} box @param {Point} to @returns {Point} */
function border(box, [tx, ty]) {
  const [cx, cy] = centre(box);
  const dx = tx - cx;
  const dy = ty - cy;
  const part = Math.min(dx ? Math.abs((box.w / 2 + 3) / dx) : 1, dy ? Math.abs((box.h / 2 + 3) / dy) : 1, 1);
  return [cx + dx * part, cy + dy * part];
}

/**
 * The track from one node to another: border to border, moved `off` pixels to the right of its direction. Messages drive
 * on the right, so that the two directions do not meet.
 * @param {TopologyLayout} layout
 * @param {string} from
 * @param {string} to
 * @param {number} off
 * @returns {[Point, Point] | null} null when a node is not in the picture
 */
export function track(layout, from, to, off) {
  const a = layout.nodes.get(from);
  const b = layout.nodes.get(to);
  if (!a || !b) return null;
  const p = border(a, centre(b));
  const q = border(b, centre(a));
  const length = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1;
  const nx = (-(q[1] - p[1]) / length) * off;
  const ny = ((q[0] - p[0]) / length) * off;
  return [[p[0] + nx, p[1] + ny], [q[0] + nx, q[1] + ny]];
}

/** @param {[Point, Point]} line @param {number} part 0 to 1 @returns {Point} */
export function along([p, q], part) {
  return [p[0] + (q[0] - p[0]) * part, p[1] + (q[1] - p[1]) * part];
}

/**
 * How far a message has travelled, 0 to 1. A held one waits before the cut, or at a node that receives nothing.
 * @param {{ sent_us: number, due_us: number, held: string }} rpc
 * @param {number} at_us
 * @param {boolean} cut is the link cut
 */
export function progress({ sent_us, due_us, held }, at_us, cut) {
  const part = due_us > sent_us ? Math.min(1, Math.max(0, (at_us - sent_us) / (due_us - sent_us))) : 1;
  return held ? Math.min(part, cut ? 0.3 : 0.97) : part;
}
