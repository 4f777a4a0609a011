// The cluster's picture: nodes, links, messages on their way, requests that wait. Elements are kept and patched.

import { along, isNarrow, layoutTopology, topologyHeight, topologyWidth, track } from "../core/layout/topology.js";
import { byName, familyOf, faultsOfLink, faultyLinks, nodesByKind, parkedAt, shortNeeds } from "../core/view/selectors.js";
import { durationText } from "../core/player/timemap.js";
import { Flights } from "./flights.js";
import { NodeCards } from "./node_cards.js";
import { Keyed, clip, means, monoWidth, s, set, show, text, uiWidth } from "./svg.js";

/** @import { Texts } from "../core/texts.js" */
/** @import { History } from "../core/recording/history.js" */
/** @import { Change } from "../core/view/changes.js" */
/** @import { Player } from "../core/player/player.js" */
/** @import { TopologyLayout, Box } from "../core/layout/topology.js" */
/** @import { Target } from "../core/view/selectors.js" */
/** @import { ProducerNode, View } from "../core/view/view.d.ts" */
/** @import { Translate } from "../core/texts.js" */

/** While time runs too fast for pills, the picture is drawn at this interval, ms: its lines count recent messages. */
const CROWDED_MS = 66;
/** While only the clock advances, the picture is drawn at this interval, ms: its durations show tenths. */
const CLOCK_MS = 100;
/** Of the lines of a card; waiting requests are drawn over the lower edge of brokers, below the last one. */
const LINE_Y = [33, 46];
/** Below that the legend's words run into each other. */
const MIN_LEGEND_GAP = 5;

export class Topology {
  dirty = true;
  /** @type {Target | null} */
  selected = null;
  /** @type {string | null} */
  topic = null;

  #player;
  #t;
  #texts;
  #width = 784;
  /** @type {TopologyLayout | null} */
  #layout = null;
  #layout_key = "";
  #structure = true;
  #drawn_ms = 0;
  #svg = s("svg", { class: "hw-topology", role: "group" });
  #legend = s("g", { class: "hw-legend" });
  #cards;
  #links;
  #nodes;
  #docked;
  #badges;
  #flights;

  /** @param {HTMLElement} host @param {Player} player @param {History} history @param {Translate} t @param {Texts} texts */
  constructor(host, player, history, t, texts) {
    this.#player = player;
    this.#t = t;
    this.#texts = texts;
    this.#cards = new NodeCards(t, texts);
    const layer = () => this.#svg.appendChild(s("g"));
    this.#svg.append(s("defs", {},
      s("pattern", { id: "hw-dots", width: 16, height: 16, patternUnits: "userSpaceOnUse" },
        s("circle", { cx: 1, cy: 1, r: 0.8, class: "hw-dot" })),
      s("pattern", { id: "hw-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("rect", { width: 1.6, height: 6, class: "hw-hatch" }))),
      s("rect", { class: "hw-ground", width: "100%", height: "100%" }));
    this.#links = new Keyed(layer(), (id) => this.#makeLink(id));
    const pulses = layer();
    this.#svg.append(this.#legend);
    this.#nodes = new Keyed(layer(), (id) => this.#makeNode(id));
    this.#docked = new Keyed(layer(), () => this.#makeDocked());
    this.#badges = new Keyed(layer(), (id) => this.#makeBadge(id));
    this.#flights = new Flights(layer(), pulses, player, history, texts);
    host.append(this.#svg);
    this.#drawLegend();
  }

  /** @param {number} width of the host, CSS pixels */
  resize(width) {
    this.#width = topologyWidth(width);
    this.#structure = this.dirty = true;
  }

  /** Everything is to be patched: the selection or the topic has changed. */
  redraw() {
    this.#structure = this.dirty = true;
  }

  /** @param {Change} change */
  note({ what, touched, reset }) {
    if (what.has("view") || what.has("mode")) this.dirty = true;
    if (what.has("time") && (this.#flights.gliding || performance.now() - this.#drawn_ms > CLOCK_MS
      || this.#player.mode === "pause")) this.dirty = true;
    if (reset) this.#structure = true;
    for (const key of touched)
      if (!key.startsWith("rpcs/")) {
        this.#structure = true; // a message changes no card but its client's counter
        break;
      }
  }

  get pace_ms() {
    return this.#player.mode === "play" && !this.#flights.gliding ? CROWDED_MS : 0;
  }

  draw() {
    const { view, at_us } = this.#player;
    if (!view) return false;
    this.#drawn_ms = performance.now();
    this.#place(view);
    const layout = /** @type {TopologyLayout} */ (this.#layout);
    if (this.#structure) {
      this.#structure = false;
      this.#drawLinks(view, layout);
    }
    this.#drawNodes(view, layout, at_us);
    this.#drawBadges(view, layout, at_us);
    this.#drawDocked(view, layout, at_us);
    this.#flights.draw(view, layout, at_us, this.selected);
    return false;
  }

  /** @param {View} view */
  #place(view) {
    const height = topologyHeight(nodesByKind(view).broker.length, this.#width);
    const key = `${this.#width} ${Object.keys(view.nodes).sort(byName)}`;
    if (key === this.#layout_key) return;
    this.#layout_key = key;
    this.#layout = layoutTopology(view, this.#width, height);
    this.#structure = true;
    set(this.#svg, { viewBox: `0 0 ${this.#width} ${height}`,
      "aria-label": this.#t("draw.topology.label", { n: nodesByKind(view).broker.length }) });
    this.#svg.style.aspectRatio = `${this.#width} / ${height}`;
    this.#drawLegend();
  }

  // --- legend --------------------------------------------------------------------------------------------------

  #drawLegend() {
    const t = this.#t;
    /** @typedef {{ mark: SVGElement, w: number, label: string }} Item */
    /** @type {Item[]} */
    const records = [
      { mark: s("rect", { y: -5, width: 11, height: 11, rx: 2.5, class: "hw-legend-committed" }), w: 11,
        label: t("draw.legend.committed") },
      { mark: s("rect", { x: 0.5, y: -4.5, width: 10, height: 10, rx: 2.5, class: "hw-legend-open" }), w: 11,
        label: t("draw.legend.open") },
      { mark: s("g", { class: "hw-legend-truncated" }, s("rect", { x: 0.5, y: -4.5, width: 10, height: 10, rx: 2.5 }),
        s("path", { d: "M2 4L9-3" })), w: 11, label: t("draw.legend.truncated") },
      { mark: s("path", { d: "M5 -4l4 7h-8z", class: "hw-legend-belief" }), w: 10, label: t("draw.legend.belief") },
    ];
    /** @type {[string, string][]} */
    const families = [["produce", "Produce"], ["fetch", "Fetch"], ["control", t("draw.legend.control")], ["zk", "ZK"]];
    /** @type {Item[]} */
    const rpcs = families.map(([family, label]) =>
      ({ mark: s("rect", { y: -4, width: 14, height: 9, rx: 4.5, class: `hw-fill ${family}` }), w: 14, label }));
    rpcs.push({ mark: s("rect", { x: 0.5, y: -3.5, width: 13, height: 8, rx: 4, class: "hw-legend-response" }), w: 14,
      label: t("draw.legend.response") });
    /** @param {Item[]} items @param {number} gap */
    const length = (items, gap) => items.reduce((sum, { w, label }) => sum + w + 5 + gap + uiWidth(label, 10), -gap);
    /** @param {Item[]} items @param {number} x @param {number} y @param {number} gap */
    const row = (items, x, y, gap) => items.flatMap(({ mark, w, label }) => {
      const at = x;
      x += w + 5 + gap + uiWidth(label, 10);
      set(mark, { transform: `translate(${at},${y - 4})` });
      return [mark, s("text", { x: at + w + 5, y, class: "hw-legend-text" }, label)];
    });
    const width = this.#width;
    const gap = width < 780 ? 5 : 10;
    if (isNarrow(width)) {
      this.#legend.replaceChildren(...row(records, 12, 18, gap), ...row(rpcs, 12, 34, gap));
      return;
    }
    // The left half ends before a broker in the middle.
    const above = [...this.#layout?.nodes.values() ?? []].filter(({ y }) => y < 24);
    const room = Math.min(width / 2, ...above.map(({ x }) => x)) - 20;
    const left = Math.min(gap, (room - length(records, 0)) / (records.length - 1));
    const lines = left >= MIN_LEGEND_GAP ? row(records, 12, 18, left)
      : [...row(records.slice(0, -1), 12, 18, gap), ...row(records.slice(-1), 12, 34, gap)];
    this.#legend.replaceChildren(...lines, ...row(rpcs, width - 12 - length(rpcs, gap), 18, gap));
  }

  // --- links ---------------------------------------------------------------------------------------------------

  /** @param {string} id */
  #makeLink(id) {
    const line = s("line");
    const wide = s("line", { class: "hw-grab" });
    return { root: means(s("g", {}, wide, line), { type: "link", id }), line, wide };
  }

  /** @param {View} view @param {TopologyLayout} layout */
  #drawLinks(view, layout) {
    const places = new Map(layout.links.map((link) => [link.id, link]));
    this.#links.sync(places.keys(), ({ root, line, wide }, id) => {
      const { a, b, kind } = /** @type {TopologyLayout["links"][number]} */ (places.get(id));
      const way = track(layout, a, b, 0);
      if (!way) return;
      const [[x1, y1], [x2, y2]] = way;
      const cut = Boolean(view.links[id]);
      const weak = !cut && faultsOfLink(view, id).length > 0;
      const client = /** @type {ProducerNode | undefined} */ (kind === "client" ? view.nodes[a] : undefined);
      const partition = client && view.partitions[client.partition];
      const used = kind === "broker" || (partition && `b${partition.leader}` === b);
      set(line, { x1, y1, x2, y2, class: `hw-link ${kind} ${cut ? "cut" : weak ? "weak" : used ? "used" : "spare"}` });
      set(wide, { x1, y1, x2, y2 });
      set(root, { class: this.selected?.type === "link" && this.selected.id === id ? "hw-selected" : "" });
    });
  }

  /** @param {string} id */
  #makeBadge(id) {
    const plate = s("rect", { y: -10, height: 20, rx: 10 });
    const label = s("text", { y: 3.8, "text-anchor": "middle" });
    const root = means(s("g", { class: "hw-badge", tabindex: 0, role: "button" }, plate, label), { type: "link", id });
    return { root, plate, label };
  }

  /** @param {View} view @param {TopologyLayout} layout @param {number} at_us */
  #drawBadges(view, layout, at_us) {
    this.#badges.sync(faultyLinks(view), ({ root, plate, label }, id) => {
      const [a, b] = id.split("|");
      const way = track(layout, a, b, 0);
      show(root, way !== null);
      if (!way) return;
      const [x, y] = along(way, 0.5);
      const words = this.#faultWords(view, id, at_us);
      const w = uiWidth(words, 10.5, 600) + 20;
      text(label, words);
      set(plate, { x: -w / 2, width: w });
      set(root, { transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`, "aria-label": words,
        class: `hw-badge${view.links[id] ? "" : " weak"}` });
    });
  }

  /**
   * What is wrong with a link: cut, in one direction or both, else slow or losing.
   * @param {View} view
   * @param {string} id
   * @param {number} at_us
   */
  #faultWords(view, id, at_us) {
    const t = this.#t;
    const link = view.links[id];
    if (link) {
      const time = durationText(at_us - link.since_us);
      const [a, b] = id.split("|");
      return link.from ? `✕ ${t("draw.link.one_way", { from: link.from, to: link.from === a ? b : a, time })}`
        : `✕ ${t("draw.link.cut", { time })}`;
    }
    const faults = faultsOfLink(view, id);
    const [{ from, to, latency_us, loss_percent, reorder_percent }] = faults;
    const parts = [latency_us && `+${durationText(latency_us)}`, loss_percent && t("draw.link.loss", { percent: loss_percent }),
      reorder_percent && t("draw.link.reorder", { percent: reorder_percent })];
    return `${faults.length === 1 ? `${from}→${to} ` : ""}${parts.filter(Boolean).join(" · ")}`;
  }

  // --- nodes ---------------------------------------------------------------------------------------------------

  /** @param {string} id */
  #makeNode(id) {
    const plate = s("rect", { class: "hw-card", rx: 9 });
    const hatch = s("rect", { class: "hw-card-hatch", rx: 9, fill: "url(#hw-hatch)" });
    const bar = s("rect", { class: "hw-card-bar", y: 9, width: 3, rx: 1.5 });
    const title = s("text", { class: "hw-card-title", x: 12, y: 18 });
    const tag = s("g", { class: "hw-tag" });
    const tag_plate = tag.appendChild(s("rect", { height: 15, rx: 4 }));
    const tag_text = tag.appendChild(s("text", { y: 10.9, "text-anchor": "middle" }));
    const lines = LINE_Y.map((y) => s("text", { x: 12, y }));
    // Blanks keep the words of the card apart for what reads its text.
    const root = s("g", { tabindex: 0, role: "button" }, plate, hatch, bar, title, tag, ...lines);
    for (const one of [tag, ...lines]) one.before(" ");
    return { root, plate, hatch, bar, title, tag, tag_plate, tag_text, lines, name: id };
  }

  /** @param {View} view @param {TopologyLayout} layout @param {number} at_us */
  #drawNodes(view, layout, at_us) {
    this.#nodes.sync(layout.nodes.keys(), (item, id) => {
      const box = /** @type {Box} */ (layout.nodes.get(id));
      const node = view.nodes[id];
      const { root, plate, hatch, bar, title, tag, tag_plate, tag_text, lines } = item;
      const card = this.#cards.card(view, id, at_us, box.w, this.topic);
      means(root, card.target);
      const small = box.h < 30;
      const chosen = this.selected?.type === card.target.type && this.selected.id === card.target.id;
      set(root, { transform: `translate(${box.x},${box.y})`, class: `hw-node ${node.kind} ${node.state}${chosen ? " hw-selected" : ""}`,
        "aria-label": [card.title, card.tag, ...card.lines.map(([line]) => line)].filter(Boolean).join(", ") });
      set(plate, { width: box.w, height: box.h, rx: small ? 6 : 9 });
      set(hatch, { width: box.w, height: box.h, rx: small ? 6 : 9 });
      set(bar, { height: Math.max(0, box.h - (small ? 8 : 18)), y: small ? 4 : 9 });
      const centred = node.kind === "zookeeper" || node.kind === "shell";
      text(title, centred && uiWidth(card.title, 10.5, 550) > box.w - 4 ? card.title.replace("ZooKeeper", "ZK") : card.title);
      set(title, centred ? { x: box.w / 2, y: box.h / 2 + 4, "text-anchor": "middle" } : { x: 12, y: small ? box.h / 2 + 4 : 18,
        "text-anchor": "start" });
      const tag_w = uiWidth(card.tag, 9.3, 600) + 11;
      show(tag, card.tag !== "" && uiWidth(card.title, 12.5, 650) + tag_w + 22 < box.w);
      set(tag, { transform: `translate(${box.w - tag_w - 8},${small ? box.h / 2 - 7.5 : 8})`, class: `hw-tag ${card.tag_class}` });
      set(tag_plate, { width: tag_w });
      text(tag_text, card.tag);
      set(tag_text, { x: tag_w / 2 });
      lines.forEach((line, i) => {
        const [words, tone] = card.lines[i] ?? ["", ""];
        const fits = box.h >= LINE_Y[i] + 5;
        text(line, fits ? clip(words, box.w - 18, 10.5) : "");
        set(line, { class: `hw-card-line ${tone}` });
      });
    });
  }

  // --- parked requests -----------------------------------------------------------------------------------------

  #makeDocked() {
    const plate = s("rect", { height: 15, rx: 7.5, class: "hw-dock-plate" });
    const left = s("rect", { y: 12, x: 6, height: 1.6, rx: 0.8, class: "hw-dock-left" });
    const label = s("text", { y: 10.4, "text-anchor": "middle" });
    return { root: s("g", { tabindex: 0, role: "button" }, plate, left, label), plate, left, label };
  }

  /**
   * A client's request and its next one share a berth, so that a busy follower does not flicker.
   * @param {View} view
   * @param {TopologyLayout} layout
   * @param {number} at_us
   */
  #drawDocked(view, layout, at_us) {
    /** @type {Map<string, { id: string, x: number, y: number, w: number, words: string }>} */
    const berths = new Map();
    for (const broker of nodesByKind(view).broker) {
      const box = layout.nodes.get(broker);
      if (!box) continue;
      const waiting = parkedAt(view, broker);
      const produce = waiting.filter(({ parked }) => parked.api === "Produce");
      const fetch = waiting.filter(({ parked }) => parked.api !== "Produce").sort((a, b) => byName(a.parked.client, b.parked.client));
      let x = box.x + 8;
      for (const { id, parked } of [...produce, ...fetch]) {
        const words = parked.api === "Produce" ? `${parked.client} ${this.#texts.render(shortNeeds(parked))}`
          : familyOf(parked.api, "request") === "group" ? `${parked.client} ${parked.api}` : parked.client;
        const w = monoWidth(words, 9) + 14;
        if (x + w > box.x + box.w - 4 && x > box.x + 8) break;
        let berth = `${broker} ${parked.client} ${parked.api}`;
        while (berths.has(berth)) berth += "+";
        berths.set(berth, { id, x, y: box.y + box.h - 7, w, words });
        x += w + 4;
      }
    }
    this.#docked.sync(berths.keys(), ({ root, plate, left, label }, berth) => {
      const { id, x, y, w, words } = /** @type {{ id: string, x: number, y: number, w: number, words: string }} */ (berths.get(berth));
      const { api, client, needs, since_us, deadline_us } = view.parked[id];
      const rest = deadline_us > since_us ? Math.max(0, Math.min(1, (deadline_us - at_us) / (deadline_us - since_us))) : 0;
      const chosen = this.selected?.type === "parked" && this.selected.id === id;
      means(root, { type: "parked", id });
      set(root, { transform: `translate(${x},${y})`, class: `hw-dock ${familyOf(api, "request")}${chosen ? " hw-selected" : ""}` });
      if (this.#player.mode === "pause")
        set(root, { "aria-label": this.#t("draw.parked",
          { api, client, needs: this.#texts.render(needs), time: durationText(deadline_us - at_us) }) });
      set(plate, { width: w });
      set(left, { width: Math.round((w - 12) * rest) });
      set(label, { x: w / 2 });
      text(label, words);
    });
  }
}
