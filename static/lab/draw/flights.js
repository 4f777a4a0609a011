// Messages on their way: a pill for each that one can follow, a pulse of its link for those that are too fast.

import { isZooKeeperRequest } from "../core/recording/history.js";
import { along, progress, track } from "../core/layout/topology.js";
import { familyOf, linkId } from "../core/view/selectors.js";
import { Keyed, means, monoWidth, s, set, show, text } from "./svg.js";

/** @import { Texts } from "../core/texts.js" */
/** @import { History } from "../core/recording/history.js" */
/** @import { Player } from "../core/player/player.js" */
/** @import { Point, TopologyLayout } from "../core/layout/topology.js" */
/** @import { Target } from "../core/view/selectors.js" */
/** @import { Rpc, View } from "../core/view/view.d.ts" */

/** Messages drive this far to the right of their link. */
const TRACK = 9;
/** A message that would cross its link in less wall time than this is not drawn as a pill: it would only flash. */
const PILL_MS = 60;
/** Faster than this only the counters move. */
const MAX_PULSE_RATE = 20;
/** A link's pulse counts the messages of this much wall time. */
const PULSE_MS = 160;
const MAX_LABEL = 24;
/** Requests to ZooKeeper are shown for this long. */
const ASKED_US = 500;
/** Messages held at a cut link are stacked; beyond this number they are only counted. */
const HELD_SHOWN = 2;
const MAX_HELD_LABEL = 15;

export class Flights {
  /** Whether there is a message whose place depends on time. */
  gliding = false;
  #player;
  #history;
  #texts;
  #reduced = matchMedia("(prefers-reduced-motion: reduce)");
  #pills;
  #asked;
  #pulses;

  /**
   * @param {SVGElement} pills the layer on top of all
   * @param {SVGElement} pulses the layer right above the links
   * @param {Player} player
   * @param {History} history
   * @param {Texts} texts
   */
  constructor(pills, pulses, player, history, texts) {
    this.#player = player;
    this.#texts = texts;
    this.#history = history;
    this.#pills = new Keyed(pills, (id) => this.#makePill(id));
    this.#asked = new Keyed(pills, () => this.#makePlainPill());
    this.#pulses = new Keyed(pulses, () => ({ root: s("line", { class: "hw-pulse" }) }));
  }

  /** @param {string} id */
  #makePill(id) {
    const pill = this.#makePlainPill();
    means(pill.root, { type: "rpc", id });
    return pill;
  }

  #makePlainPill() {
    const ring = s("rect", { class: "hw-ring" });
    const plate = s("rect", { class: "hw-pill-plate" });
    const label = s("text", { y: 3.4, "text-anchor": "middle" });
    return { root: s("g", {}, ring, plate, label), ring, plate, label };
  }

  /** @param {View} view @param {TopologyLayout} layout @param {number} at_us @param {Target | null} selected */
  draw(view, layout, at_us, selected) {
    const { rate, mode } = this.#player;
    const is_chosen = (/** @type {string} */ id) => selected?.type === "rpc" && selected.id === id;
    const running = mode === "play";
    const shown = Object.keys(view.rpcs).filter((id) => {
      const { held, sent_us, due_us } = view.rpcs[id];
      return held || !running || is_chosen(id) || (due_us - sent_us) / 1000 / rate >= PILL_MS;
    });
    this.gliding = shown.some((id) => !view.rpcs[id].held);
    const held = heldByPlace(view);
    /** @type {Map<string, number>} */
    const queued = new Map();
    this.#pills.sync(shown, (pill, id) => {
      const rpc = view.rpcs[id];
      const way = track(layout, rpc.source, rpc.destination, TRACK);
      show(pill.root, way !== null);
      if (!way) return;
      const chosen = is_chosen(id);
      const still = this.#reduced.matches && !rpc.held;
      const cut = linkId(rpc.source, rpc.destination) in view.links;
      let [x, y] = along(way, still ? 0.5 : progress(rpc, at_us, cut));
      const family = familyOf(rpc.api, rpc.kind);
      let words = `${cutTo(this.#texts.render(rpc.label) || rpc.api, rpc.held ? MAX_HELD_LABEL : MAX_LABEL)}${still ? " →" : ""}`;
      if (rpc.held) {
        const place = placeOf(view, rpc);
        const before = queued.get(place) ?? 0;
        queued.set(place, before + 1);
        // Those of a cut link are stacked on its badge, whatever their source.
        if (cut) [x, y] = along(/** @type {[Point, Point]} */ (track(layout, rpc.source, rpc.destination, 0)), 0.5);
        y -= (cut ? 19 : 15) + before * 16;
        show(pill.root, before < HELD_SHOWN || chosen);
        const more = (held.get(place) ?? 0) - HELD_SHOWN;
        words = before === HELD_SHOWN - 1 && more > 0 ? `✕ +${more + 1}` : `✕ ${words}`;
      }
      this.#shape(pill, words, chosen);
      set(pill.root, { transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`,
        class: `hw-pill ${family} ${rpc.kind}${rpc.held ? " held" : ""}${chosen ? " hw-selected" : ""}` });
    });
    this.#drawAsked(layout, at_us, running ? rate : 0);
    this.#drawPulses(layout, at_us, running ? rate : 0);
  }

  /**
   * Requests to ZooKeeper, which are answered at once: in the middle of their link for as long as a message usually takes.
   * @param {TopologyLayout} layout @param {number} at_us @param {number} rate 0 while paused
   */
  #drawAsked(layout, at_us, rate) {
    const recent = this.#history.zookeeper && (rate === 0 || ASKED_US / 1000 / rate >= PILL_MS)
      ? this.#history.messages(at_us - ASKED_US, at_us).filter(isZooKeeperRequest) : [];
    const asked = new Map(recent.map((span) => [span.id, span]));
    this.#asked.sync(asked.keys(), (pill, id) => {
      const span = /** @type {import("../core/recording/history.js").Span} */ (asked.get(id));
      const way = track(layout, span.source, span.destination, TRACK);
      show(pill.root, way !== null);
      if (!way) return;
      const [x, y] = along(way, 0.5);
      this.#shape(pill, cutTo(span.label, MAX_LABEL), false);
      set(pill.root, { transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`, class: "hw-pill zk request" });
    });
  }

  /** @param {{ ring: Element, plate: Element, label: Element }} pill @param {string} words @param {boolean} chosen */
  #shape({ ring, plate, label }, words, chosen) {
    const size = chosen ? 10.5 : 9.5;
    const h = chosen ? 20 : 16;
    const w = Math.max(30, monoWidth(words, size) + 15);
    text(label, words);
    set(plate, { x: -w / 2, y: -h / 2, width: w, height: h, rx: h / 2 });
    set(ring, { x: -w / 2 - 4, y: -h / 2 - 4, width: w + 8, height: h + 8, rx: h / 2 + 4 });
  }

  /**
   * Traffic too fast for pills: a line along the track, stronger with more recent messages.
   * @param {TopologyLayout} layout
   * @param {number} at_us
   * @param {number} rate 0 while paused
   */
  #drawPulses(layout, at_us, rate) {
    /** @type {Map<string, number>} */
    const counts = new Map();
    if (rate > 0 && rate <= MAX_PULSE_RATE && !this.#reduced.matches) {
      const from_us = at_us - PULSE_MS * 1000 * rate;
      for (const { source, destination, family, sent_us, due_us } of this.#history.messages(from_us, at_us))
        if (sent_us <= at_us && (due_us - sent_us) / 1000 / rate < PILL_MS) {
          const key = `${source} ${destination} ${family}`;
          counts.set(key, (counts.get(key) ?? 0) + 1);
        }
    }
    // In a fixed order, because moving an element in the tree costs more than writing its attributes.
    this.#pulses.sync([...counts.keys()].sort(), ({ root }, key) => {
      const [source, destination, family] = key.split(" ");
      const way = track(layout, source, destination, TRACK / 2);
      show(root, way !== null);
      if (!way) return;
      const [[x1, y1], [x2, y2]] = way;
      const n = /** @type {number} */ (counts.get(key));
      set(root, { x1, y1, x2, y2, class: `hw-pulse ${family}`, "stroke-width": 1.5 + Math.min(3, Math.floor(Math.log2(n))),
        "stroke-opacity": n > 8 ? 0.75 : 0.45 });
    });
  }
}

/** @param {string} words @param {number} length */
function cutTo(words, length) {
  return words.length > length ? `${words.slice(0, length - 1)}…` : words;
}

/** The position of a held message: on a cut link, or at a node. @param {View} view @param {Rpc} rpc */
function placeOf(view, { source, destination }) {
  const link = linkId(source, destination);
  return link in view.links ? link : `${source} ${destination}`;
}

/** How many messages are held at a place. @param {View} view */
function heldByPlace(view) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const rpc of Object.values(view.rpcs)) if (rpc.held) counts.set(placeOf(view, rpc), (counts.get(placeOf(view, rpc)) ?? 0) + 1);
  return counts;
}
