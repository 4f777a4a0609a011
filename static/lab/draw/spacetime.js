// The space-time picture on a canvas: a lane for each node, messages as lines, requests that wait as bars.
// The future is hatched; of it only the arrivals that are already due are drawn. Dragging scrubs.

import { isZooKeeperRequest } from "../core/recording/history.js";
import { closeSpan, LABEL_W, layoutLanes, spanOf, toSegment, windowFor, windowScale } from "../core/layout/spacetime.js";
import { shortNeeds } from "../core/view/selectors.js";
import { Labels } from "./labels.js";
import { begin, hatch } from "./palette.js";
import { drawWay, labelPlace, wayOf } from "./span.js";
import { monoWidth } from "./svg.js";
import { drawAxis, drawPlayhead } from "./time_axis.js";
import { boxOf, pointOf } from "./zoom.js";

/** @import { Texts } from "../core/texts.js" */
/** @import { Change } from "../core/view/changes.js" */
/** @import { Player } from "../core/player/player.js" */
/** @import { History, Span } from "../core/recording/history.js" */
/** @import { Window } from "../core/layout/spacetime.js" */
/** @import { Scale } from "../core/player/timemap.js" */
/** @import { Target } from "../core/view/selectors.js" */
/** @import { AnyNode, View } from "../core/view/view.d.ts" */
/** @import { Plan } from "./anchors.js" */
/** @import { Palette } from "./palette.js" */
/** @import { Translate } from "../core/texts.js" */

/** With more messages than this in sight each lane shows how many, instead of a line for each. */
const MAX_LINES = 400;
/** With more than this their texts are few. */
const MAX_WORDY = 60;
const BUCKET_PX = 4;
/** While time runs and the picture is crowded it is drawn at this interval, ms. */
const CROWDED_MS = 100;
/** What scrubbing does. @typedef {{ seek: (us: number) => void, seekSeq: (seq: number) => void, goLive: () => void }} TimeMover */

/** How far keys move time, in parts of the window. @type {Record<string, number>} */
const KEY_STEPS = { ArrowLeft: -0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowUp: 0.01, PageDown: -0.1, PageUp: 0.1 };

export class SpaceTime {
  dirty = true;
  /** @type {Target | null} */
  selected = null;

  #player;
  #time;
  #t;
  #texts;
  #palette;
  #canvas = document.createElement("canvas");
  #width = 800;
  #height = 160;
  #history;
  /** @type {Window | null} */
  #window = null;
  #steps = false;
  /** A window that is kept in sight while time does not run. @type {Window | null} */
  #kept = null;
  #dragging = false;
  #crowded = false;

  /**
   * @param {HTMLElement} host
   * @param {Player} player
   * @param {TimeMover} time
   * @param {History} history
   * @param {Translate} t
   * @param {Texts} texts
   * @param {Palette} palette
   */
  constructor(host, player, time, history, t, texts, palette) {
    this.#player = player;
    this.#time = time;
    this.#t = t;
    this.#texts = texts;
    this.#palette = palette;
    this.#history = history;
    this.#canvas.className = "hw-spacetime";
    this.#canvas.tabIndex = 0;
    this.#canvas.setAttribute("role", "slider");
    host.append(this.#canvas);
    this.#listen();
  }

  /** @param {number} width @param {number} height */
  resize(width, height) {
    this.#width = width;
    this.#height = height;
    this.dirty = true;
  }

  /** The time that is in sight; null before the first picture. */
  get window() {
    return this.#window;
  }

  /** Begins with a window. @param {Window | null} window */
  set window(window) {
    this.#window = window;
    this.dirty = true;
  }

  /** Keeps a window in sight while time does not run; null: it follows the playhead. @param {Window | null} window */
  keep(window) {
    this.#kept = window;
    this.dirty = true;
  }

  /** Whether time goes by steps, so that the last messages are shown close up. @param {boolean} steps */
  set steps(steps) {
    this.#steps = steps;
    this.dirty = true;
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.#palette = palette;
    this.dirty = true;
  }

  /** @param {Change} change */
  note({ what }) {
    if (what.has("view") || what.has("time") || what.has("mode") || what.has("index")) this.dirty = true;
  }

  get pace_ms() {
    return this.#crowded && this.#player.mode === "play" ? CROWDED_MS : 0;
  }

  /** How much time the window shows. */
  #span() {
    const { at_us, mode, rate } = this.#player;
    const span_us = spanOf(mode === "event_paced" ? Math.min(rate, 0.0025) : rate);
    if (mode !== "pause" || !this.#steps) return span_us;
    return Math.min(span_us, closeSpan(this.#history.messages(at_us - span_us, at_us), at_us));
  }

  draw() {
    const { view, at_us, mode, isPast, live_at_us } = this.#player;
    if (!view) return false;
    const moving = mode === "play";
    if (this.#kept && !moving) this.#window = this.#kept;
    else if (!this.#dragging) this.#window = windowFor(this.#window, at_us, this.#span(), moving);
    const map = windowScale(/** @type {Window} */ (this.#window), this.#width);
    const context = begin(this.#canvas, this.#width, this.#height);
    const lanes = new Map(layoutLanes(view, this.#height).map(({ id, y }) => [id, y]));
    const spans = this.#history.messages(map.from_us, at_us);
    this.#crowded = spans.length > MAX_LINES;

    const size = { width: this.#width, height: this.#height };
    drawAxis(context, map, at_us, size, this.#palette);
    const future_x = Math.max(LABEL_W, map.x(at_us));
    hatch(context, future_x, 16, this.#width - future_x, this.#height - 16, this.#palette.raise);
    this.#drawLanes(context, view, lanes);
    // While a crowded picture runs, what would be fetched has left it before it is here.
    const fetches = !this.#crowded || !moving;
    this.#drawGaps(context, map, at_us, this.#t(fetches ? "draw.loading" : "draw.gap"));
    context.save();
    context.beginPath();
    context.rect(LABEL_W, 0, this.#width - LABEL_W, this.#height);
    context.clip();
    if (this.#crowded) this.#drawCounts(context, map, lanes, spans, at_us);
    else {
      this.#drawWaits(context, map, lanes, at_us);
      const labels = new Labels(context, this.#palette, this.#width, spans.length > MAX_WORDY);
      for (const span of spans) this.#drawSpan(context, map, lanes, span, at_us, labels);
      this.#drawDeeds(context, map, lanes, at_us, labels);
      labels.draw();
    }
    drawPlayhead(context, map, at_us, isPast, size, this.#palette);
    context.restore();
    this.#speak(at_us, live_at_us);
    if (fetches) this.#player.want(Math.max(this.#player.first_us, map.from_us), at_us);
    return false;
  }

  // --- parts ---------------------------------------------------------------------------------------------------

  /** @param {CanvasRenderingContext2D} context @param {View} view @param {Map<string, number>} lanes */
  #drawLanes(context, view, lanes) {
    const { ink, ink3, line2, danger, ui } = this.#palette;
    context.textAlign = "left";
    const [a, b] = lanes.values();
    const size = Math.min(11, (b === undefined ? 11 : b - a) * 0.92);
    for (const [id, y] of lanes) {
      const node = view.nodes[id];
      const down = node.state === "down";
      context.fillStyle = down ? danger : line2;
      context.fillRect(LABEL_W, Math.round(y), this.#width - LABEL_W, down ? 1 : 1.2);
      context.beginPath();
      context.arc(16, y, 3.2, 0, 7);
      context.fillStyle = this.#hueOf(view, node);
      context.fill();
      context.font = `550 ${size}px ${ui}`;
      context.fillStyle = down ? ink3 : ink;
      context.fillText(this.#nameOf(id, node), 25, y + 3.7, LABEL_W - 30);
    }
  }

  /**
   * Where events are not here, the picture says so instead of showing that nothing happened.
   * @param {CanvasRenderingContext2D} context
   * @param {Scale} map
   * @param {number} at_us
   * @param {string} words
   */
  #drawGaps(context, map, at_us, words) {
    const { bg, ink3, line, ui } = this.#palette;
    for (const [from_us, to_us] of this.#history.gaps(Math.max(this.#player.first_us, map.from_us), at_us)) {
      const x = Math.max(LABEL_W, map.x(from_us));
      const w = map.x(to_us) - x;
      if (w < 2) continue;
      context.fillStyle = bg;
      context.fillRect(x, 16, w, this.#height - 16);
      hatch(context, x, 16, w, this.#height - 16, line);
      context.font = `10px ${ui}`;
      const wide = context.measureText(words).width + 12;
      if (wide > w) continue;
      context.fillStyle = bg;
      context.fillRect(x + (w - wide) / 2, this.#height / 2 - 2, wide, 17);
      context.fillStyle = ink3;
      context.textAlign = "center";
      context.fillText(words, x + w / 2, this.#height / 2 + 10);
    }
  }

  /** @param {View} view @param {AnyNode} node */
  #hueOf(view, node) {
    const p = this.#palette;
    if (node.kind === "producer") return p.produce;
    if (node.kind === "consumer") return p.fetch;
    if (node.kind !== "broker") return p.zk;
    if (node.state === "down") return p.offline;
    return view.controller.broker === node.broker_id ? p.control : p.leader;
  }

  /** @param {string} id @param {AnyNode} node */
  #nameOf(id, node) {
    if (node.kind === "broker") return this.#t("draw.broker.title", { id: node.broker_id });
    if (node.kind === "zookeeper") return "ZooKeeper";
    return node.kind === "shell" ? this.#t("draw.shell") : id;
  }

  /** @param {CanvasRenderingContext2D} context @param {Scale} map @param {Map<string, number>} lanes @param {number} at_us */
  #drawWaits(context, map, lanes, at_us) {
    const waits = this.#history.waits(map.from_us, at_us);
    const { panel, mono } = this.#palette;
    // Produce requests are above the fetches that they wait for.
    for (const { broker, family, api, client, partitions, needs, since_us, end_us } of waits.sort((a, b) =>
      Number(a.api === "Produce") - Number(b.api === "Produce"))) {
      const y = lanes.get(broker);
      if (y === undefined || since_us > at_us) continue;
      const from = Math.max(LABEL_W - 6, map.x(since_us));
      const to = map.x(Math.min(end_us, at_us));
      if (to - from < 1) continue;
      const hue = this.#palette[family];
      const h = api === "Produce" ? 12 : 6;
      context.beginPath();
      context.roundRect(from, y - h / 2, to - from, h, Math.min(4, (to - from) / 2));
      context.fillStyle = panel;
      context.fill();
      context.globalAlpha = api === "Produce" ? 0.26 : 0.16;
      context.fillStyle = hue;
      context.fill();
      context.globalAlpha = 0.6;
      context.strokeStyle = hue;
      context.lineWidth = 0.8;
      context.stroke();
      context.globalAlpha = 1;
      const words = `${client} ${this.#t("draw.waits", { needs: this.#texts.render(shortNeeds({ partitions, needs })) })}`;
      if (api !== "Produce" || to - from < monoWidth(words, 8.8) + 12) continue;
      context.font = `600 8.8px ${mono}`;
      context.textAlign = "right";
      context.fillStyle = hue;
      context.fillText(words, to - 6, y + 3.2);
      context.textAlign = "left";
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Scale} map
   * @param {Map<string, number>} lanes
   * @param {Span} span
   * @param {number} at_us
   * @param {Labels} labels
   */
  #drawSpan(context, map, lanes, span, at_us, labels) {
    const y1 = lanes.get(span.source);
    const y2 = lanes.get(span.destination);
    if (y1 === undefined || y2 === undefined) return;
    const chosen = this.selected?.type === "rpc" && this.selected.id === span.id;
    const way = wayOf(span, map, y1, y2, at_us);
    const { select, danger, panel } = this.#palette;
    const hue = way.lost ? danger : chosen ? select : this.#palette[span.family];
    drawWay(context, span, way, { hue, panel, chosen });
    if (span.family === "zk" && span.kind !== "watch" && !chosen && !isZooKeeperRequest(span)) return;
    const { x, y } = labelPlace(span, way, map.x(at_us));
    labels.add(this.#texts.render(span.label) || span.api, x + 4, y, hue, chosen ? 9 : 1, chosen, true);
  }

  /**
   * What nodes did: diamonds on their lanes; those at one place are one with a count.
   * @param {CanvasRenderingContext2D} context
   * @param {Scale} map
   * @param {Map<string, number>} lanes
   * @param {number} at_us
   * @param {Labels} labels
   */
  #drawDeeds(context, map, lanes, at_us, labels) {
    const { ink } = this.#palette;
    /** @type {Map<string, { x: number, y: number, words: string[] }>} */
    const places = new Map();
    for (const { at_us: when, node, kind, values } of this.#history.deeds(map.from_us, at_us)) {
      const y = lanes.get(node);
      if (y === undefined) continue;
      const x = map.x(when);
      const key = `${node} ${Math.round(x / 4)}`;
      const place = places.get(key) ?? { x, y, words: [] };
      places.set(key, place);
      place.words.push(this.#t(`draw.deed.${kind}`, values));
    }
    context.fillStyle = ink;
    for (const { x, y, words } of places.values()) {
      context.save();
      context.translate(x, y);
      context.rotate(Math.PI / 4);
      context.fillRect(-3, -3, 6, 6);
      context.restore();
      const more = words.length > 2 ? `${words.slice(0, 2).join(", ")} +${words.length - 2}` : words.join(", ");
      labels.add(more, x + 7, y + 13, ink, 3, false, false);
    }
  }

  /**
   * Too many for lines: how many messages each node sent in each few pixels.
   * @param {CanvasRenderingContext2D} context
   * @param {Scale} map
   * @param {Map<string, number>} lanes
   * @param {Span[]} spans
   * @param {number} at_us
   */
  #drawCounts(context, map, lanes, spans, at_us) {
    const n = Math.ceil((this.#width - LABEL_W) / BUCKET_PX);
    const families = ["fetch", "produce", "control", "group", "zk"];
    /** @type {Map<string, Float64Array>} */
    const counts = new Map();
    let most = 1;
    for (const { source, family, sent_us } of spans) {
      const bucket = Math.floor((map.x(sent_us) - LABEL_W) / BUCKET_PX);
      if (bucket < 0 || bucket >= n || sent_us > at_us) continue;
      let row = counts.get(source);
      if (!row) counts.set(source, (row = new Float64Array(n * families.length)));
      most = Math.max(most, ++row[bucket * families.length + families.indexOf(family)]);
    }
    const [a, b] = [...lanes.values()];
    const height = Math.min(18, (b ?? a + 20) - a - 3);
    const per = height / (most * 1.6);
    context.globalAlpha = 0.8;
    families.forEach((family, f) => {
      context.beginPath();
      for (const [id, row] of counts) {
        const y = lanes.get(id);
        if (y === undefined) continue;
        for (let i = f, x = LABEL_W; i < row.length; i += families.length, x += BUCKET_PX) {
          if (row[i] === 0) continue;
          let below = 0;
          for (let k = i - f; k < i; k++) below += row[k];
          context.rect(x, y - Math.min(height, (below + row[i]) * per), BUCKET_PX - 0.8, Math.min(height, row[i] * per));
        }
      }
      context.fillStyle = this.#palette[family];
      context.fill();
    });
    context.globalAlpha = 1;
  }

  /** @param {number} at_us @param {number} live_at_us */
  #speak(at_us, live_at_us) {
    const canvas = this.#canvas;
    const now = (at_us / 1e6).toFixed(this.#player.mode === "play" ? 0 : 4);
    if (canvas.getAttribute("aria-valuenow") === now) return;
    canvas.setAttribute("aria-label", this.#t("draw.spacetime.label"));
    canvas.setAttribute("aria-valuemin", "0");
    canvas.setAttribute("aria-valuemax", (Math.max(live_at_us, at_us) / 1e6).toFixed(4));
    canvas.setAttribute("aria-valuenow", now);
    canvas.setAttribute("aria-valuetext", this.#t("draw.seconds", { seconds: now }));
  }

  // --- scrubbing -----------------------------------------------------------------------------------------------

  /** What places in it are worked out from. @returns {Plan} */
  get plan() {
    const { view } = this.#player;
    return { canvas: this.#canvas, width: this.#width, window: this.#window, lanes: view ? layoutLanes(view, this.#height) : [] };
  }

  /** The message nearest to a place, or null. @param {number} x client @param {number} y client @returns {Target | null} */
  targetAt(x, y) {
    const { view, at_us } = this.#player;
    if (!view || !this.#window || this.#crowded) return null;
    const box = boxOf(this.#canvas);
    const px = x - box.x;
    const py = y - box.y;
    const map = windowScale(this.#window, this.#width);
    const lanes = new Map(layoutLanes(view, this.#height).map((lane) => [lane.id, lane.y]));
    let best = 6;
    /** @type {Target | null} */
    let found = null;
    for (const span of this.#history.messages(map.from_us, at_us)) {
      const y1 = lanes.get(span.source);
      const y2 = lanes.get(span.destination);
      if (y1 === undefined || y2 === undefined || span.sent_us > at_us || isZooKeeperRequest(span)) continue;
      const distance = toSegment(px, py, map.x(span.sent_us), y1, map.x(Math.min(span.end_us, Math.max(span.due_us, at_us))), y2);
      if (distance < best) {
        best = distance;
        found = { type: "rpc", id: span.id };
      }
    }
    return found;
  }

  #listen() {
    const canvas = this.#canvas;
    /** @param {PointerEvent} event */
    const scrub = (event) => {
      if (!this.#window) return;
      const x = Math.max(LABEL_W, pointOf(event).x - boxOf(canvas).x);
      this.#time.seek(Math.round(windowScale(this.#window, this.#width).at(x)));
    };
    let from = 0;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = event.clientX;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      if (!this.#dragging && Math.abs(event.clientX - from) < 3) return;
      this.#dragging = true;
      scrub(event);
    });
    const end = (/** @type {PointerEvent} */ event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      canvas.releasePointerCapture(event.pointerId);
      if (!this.#dragging && event.type === "pointerup") {
        const { x, y } = pointOf(event);
        if (!this.targetAt(x, y)) scrub(event);
      }
      this.#dragging = false;
      this.dirty = true;
      this.#player.wake();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("keydown", (event) => {
      const part = KEY_STEPS[event.key];
      if (event.key === "Home") this.#time.seek(0);
      else if (event.key === "End") this.#time.goLive();
      else if (part && this.#window) this.#time.seek(Math.round(this.#player.at_us + part * this.#window.span_us));
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
}
