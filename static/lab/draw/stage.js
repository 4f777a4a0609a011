// Puts the drawings into the page: topology and strips into one element, the whole run and the space-time picture into
// another. Pointing at things becomes events that bubble from those elements:
//   hw-select   { type, id } or null        something was chosen
//   hw-hover    { type, id } or null        the pointer is over a record, or no more
//   hw-context  { type, id, x, y }          a menu is wanted; preventDefault() keeps the stage's own from opening
//   hw-command  { line }                    a line of the shell was chosen in the stage's menu

import { strokeOf } from "../core/layout/ink.js";
import { rangesText } from "../core/player/page_view.js";
import { History } from "../core/recording/history.js";
import { logEnd, splitRecord, topicNames } from "../core/view/selectors.js";
import { common, elementOf, frameOfInstant, instantAt, partsOf, thingAt } from "./anchors.js";
import { DENSITY_H, Density } from "./density.js";
import { Ink } from "./ink.js";
import { openMenu } from "./menu.js";
import { onNewColours, readPalette } from "./palette.js";
import { Pointers } from "./pointers.js";
import { Frames } from "./raf.js";
import { SpaceTime } from "./spacetime.js";
import { Strips } from "./strips.js";
import { meaning } from "./svg.js";
import { Topology } from "./topology.js";
import { boxOf, elementAt, pointOf } from "./zoom.js";

/** @import { Texts } from "../core/texts.js" */
/** @import { Player } from "../core/player/player.js" */
/** @import { Target } from "../core/view/selectors.js" */
/** @import { Anchor, Point, Stroke } from "../core/layout/ink.js" */
/** @import { Framed, Spot } from "./anchors.js" */
/** @import { Camera, Ranges } from "../core/layout/strips.js" */
/** @import { Window } from "../core/layout/spacetime.js" */
/** @import { TimeMover } from "./spacetime.js" */
/** @import { Translate } from "../core/texts.js" */

/**
 * @typedef {{ stage: HTMLElement, timeline: HTMLElement }} Hosts
 * @typedef {{ t: Translate, texts: Texts, topic?: string | null, time?: TimeMover, mayPan?: () => boolean,
 *             inSight?: () => void }} StageOptions
 *   `time`: how scrubbing moves time, else by the player; `mayPan`: whether the axes may be moved, asked each time; `inSight`:
 *   called when other offsets have come into sight, or another span of time in a pause, once they are drawn
 * @typedef {{ ranges: Ranges, window: [number, number] | null }} Sight what is in sight: first and last offset of each open
 *   partition; the space-time picture's window (from, to; microseconds)
 * @typedef {{ camera: Camera, window: Window | null }} Cameras where the drawings are, to return there
 */

/** Lowest height of the space-time picture. */
const SPACETIME_H = 120;

/** @param {Hosts} hosts @param {Player} player @param {StageOptions} options */
export function createStage(hosts, player, options) {
  return new Stage(hosts, player, options);
}

export class Stage {
  #hosts;
  #player;
  #t;
  /** @type {string | null | undefined} undefined: the first there is */
  #topic;
  #history;
  #topology;
  #strips;
  #spacetime;
  #density;
  #pointers;
  #ink;
  #frames;
  #resizes;
  #unsubscribe;
  #hovered = "";
  #sighted = "";
  #away = new AbortController();
  #parts;

  /** @param {Hosts} hosts @param {Player} player @param {StageOptions} options */
  constructor(hosts, player, { t, texts, topic, time, mayPan, inSight }) {
    this.#hosts = hosts;
    this.#player = player;
    this.#t = t;
    this.#topic = topic;
    const part = (/** @type {HTMLElement} */ host, /** @type {string} */ name) => {
      const element = document.createElement("div");
      element.className = name;
      host.append(element);
      return element;
    };
    this.#parts = { topology: part(hosts.stage, "hw-topology-part"), strips: part(hosts.stage, "hw-strips-part"),
      density: part(hosts.timeline, "hw-density-part"), spacetime: part(hosts.timeline, "hw-spacetime-part") };
    const palette = readPalette(hosts.stage);
    const history = this.#history = new History(() => player.chunks(), () => player.seq); // one for both that read it: it is long
    this.#topology = new Topology(this.#parts.topology, player, history, t, texts);
    this.#strips = new Strips(this.#parts.strips, player, t, palette);
    if (mayPan) this.#strips.mayPan = mayPan;
    const mover = time ?? moverOf(player);
    this.#density = new Density(this.#parts.density, player, mover, t, texts, palette);
    this.#spacetime = new SpaceTime(this.#parts.spacetime, player, mover, history, t, texts, palette);
    // The canvases first: setting a font on one recomputes all stale styles, and those of the SVG are stale afterwards.
    const drawings = [this.#density, this.#spacetime, this.#topology, this.#strips];
    this.#pointers = new Pointers(document.body, (anchor) => this.frameOf(anchor));
    this.#ink = new Ink(document.body, (anchor) => this.frameOf(anchor),
      ({ type }) => boxOf(type === "time" ? this.#parts.spacetime : hosts.stage));
    this.#frames = new Frames(player, [...drawings, this.#pointers, this.#ink], inSight && (() => this.#noteSight(inSight)));
    this.#unsubscribe = player.subscribe((change) => {
      if (change.reset || change.touched.size) this.#follow();
      for (const drawing of drawings) drawing.note(change);
      this.#noteOverlays();
      this.#frames.wake();
    });
    this.#resizes = new ResizeObserver(() => this.#resize());
    for (const element of Object.values(this.#parts)) this.#resizes.observe(element);
    this.#follow();
    this.#resize();
    this.#listen();
  }

  /** Which topic the strips show; null: all of them. @param {string | null} topic */
  setTopic(topic) {
    this.#topic = topic;
    this.#follow();
    this.#redraw();
  }

  /** Whether requests to ZooKeeper are drawn as messages. @param {boolean} shows */
  showZooKeeper(shows) {
    this.#history.zookeeper = shows;
    this.#redraw();
  }

  /** The topic that the strips show now. */
  get topic() {
    return this.#strips.topic;
  }

  /** Marks something as selected, in all drawings. @param {Target | null} target */
  select(target) {
    this.#topology.selected = this.#strips.selected = this.#spacetime.selected = target;
    if (target?.type === "record") {
      const [replica, offset] = splitRecord(target.id);
      this.#strips.reveal(replica.slice(0, replica.lastIndexOf("@")), offset);
    } else if (target?.type === "partition") this.#strips.open(target.id);
    this.#redraw();
  }

  /** Rings a record that is pointed at elsewhere, as in the hex view. @param {Target | null} target */
  point(target) {
    this.#strips.pointed = target;
    this.#strips.all();
    this.#frames.wake();
  }

  /** Whether time goes by steps: the last messages are then shown close up. @param {boolean} steps */
  showSteps(steps) {
    this.#spacetime.steps = steps;
    this.#frames.wake();
  }

  /** What is in sight. @returns {Sight} */
  sight() {
    const window = this.#spacetime.window;
    return { ranges: this.#strips.ranges, window: window && [window.from_us, window.from_us + window.span_us] };
  }

  /** Brings into sight what another page has in sight.
   * @param {Sight} sight
   * @param {string} most the partition that comes first where not all of it fits
   */
  showSight({ ranges, window }, most) {
    if (Object.keys(ranges).length) this.#strips.fit(ranges, most);
    this.#spacetime.keep(window && { from_us: window[0], span_us: window[1] - window[0] });
    this.#frames.wake();
  }

  /** Where the drawings are. @returns {Cameras} */
  get cameras() {
    return structuredClone({ camera: this.#strips.camera, window: this.#spacetime.window });
  }

  /** @param {Cameras} cameras */
  set cameras({ camera, window }) {
    this.#strips.camera = structuredClone(camera);
    this.#spacetime.window = window;
    this.#redraw();
  }

  /** Small cells without digits, and back. */
  zoom() {
    this.#strips.toggleSmall();
  }

  #readColours() {
    const palette = readPalette(this.#hosts.stage);
    this.#strips.setPalette(palette);
    this.#density.setPalette(palette);
    this.#spacetime.setPalette(palette);
    this.#frames.wake();
  }

  destroy() {
    this.#frames.stop();
    this.#unsubscribe();
    this.#resizes.disconnect();
    this.#away.abort();
    this.#pointers.destroy();
    this.#ink.destroy();
    for (const element of Object.values(this.#parts)) element.remove();
  }

  /** Without a chosen topic the first one is shown, as soon as there is one. */
  #follow() {
    const { view } = this.#player;
    const names = view ? topicNames(view) : [];
    const topic = this.#topic === undefined || (this.#topic !== null && !names.includes(this.#topic)) ? (names[0] ?? null) : this.#topic;
    if (topic === this.#strips.topic) return;
    this.#strips.topic = this.#topology.topic = topic;
    this.#strips.all();
    this.#topology.dirty = true;
  }

  /** @param {() => void} inSight */
  #noteSight(inSight) {
    const { ranges, window } = this.sight();
    const sighted = `${rangesText(ranges)} ${this.#player.mode === "pause" ? window : ""}`;
    if (sighted === this.#sighted) return;
    this.#sighted = sighted;
    inSight();
  }

  #redraw() {
    this.#strips.all();
    this.#topology.redraw();
    this.#spacetime.dirty = true;
    this.#noteOverlays();
    this.#frames.wake();
  }

  #resize() {
    const { topology, strips, density, spacetime } = this.#parts;
    if (topology.clientWidth) this.#topology.resize(topology.clientWidth);
    if (strips.clientWidth) this.#strips.resize(strips.clientWidth);
    if (density.clientWidth) this.#density.resize(density.clientWidth);
    if (spacetime.clientWidth) this.#spacetime.resize(spacetime.clientWidth, Math.max(SPACETIME_H, spacetime.clientHeight));
    density.style.height = `${DENSITY_H}px`;
    this.#noteOverlays();
    this.#frames.wake();
  }

  // --- pointing ------------------------------------------------------------------------------------------------

  /**
   * What is at a place of the window, in a form that another page can find: a thing, or an instant on a lane; null outside of all.
   * @param {number} x
   * @param {number} y
   * @returns {Spot | null}
   */
  spotAt(x, y) {
    if (this.#parts.spacetime.contains(elementAt(x, y))) {
      const found = instantAt(this.#spacetime.plan, x, y);
      return found && this.#spotOf(found, x, y);
    }
    const thing = thingAt(x, y);
    if (!thing) return null;
    return this.#spotOf((thing.type === "replica" && this.#strips.targetAt(x, y)) || thing, x, y);
  }

  /** @param {Anchor} anchor @param {number} x @param {number} y @returns {Spot | null} */
  #spotOf(anchor, x, y) {
    const framed = this.frameOf(anchor);
    return framed && { anchor, ...partsOf(framed.box, x, y) };
  }

  /**
   * Where a thing is in the window, and within what it can be seen; null where the drawings do not have it.
   * @param {Anchor} anchor
   * @returns {Framed | null}
   */
  frameOf(anchor) {
    const { stage } = this.#hosts;
    const seen = boxOf(stage);
    if (anchor.type === "time") return frameOfInstant(this.#spacetime.plan, anchor.id, anchor.at_us ?? 0);
    if (anchor.type === "record") {
      const found = this.#strips.frameOf(anchor.id);
      return found && { box: found.box, frame: common(found.frame, seen) };
    }
    const element = elementOf(stage, anchor);
    return element && { box: boxOf(element), frame: seen };
  }

  /** Shows where the presenter points; null hides the pointer.
   * @param {string} who
   * @param {Spot | null} spot
   */
  setPointer(who, spot) {
    this.#pointers.set(who, spot);
    this.#frames.wake();
  }

  /** Shows these strokes, by number, and no others. @param {Record<string, Stroke>} strokes */
  setInk(strokes) {
    this.#ink.set(strokes);
    this.#frames.wake();
  }

  /** Shows a stroke while it is drawn, in client pixels; without points it has ended. @param {Point[]} points */
  sketch(points) {
    this.#ink.sketch(points);
  }

  /** The stroke, attached to a thing; null if there is none. @param {Point[]} points client pixels @returns {Stroke | null} */
  strokeOf(points) {
    return strokeOf(points, (x, y) => this.spotAt(x, y), (anchor) => this.frameOf(anchor));
  }

  #noteOverlays() {
    this.#pointers.note();
    this.#ink.note();
  }

  #listen() {
    const { signal } = this.#away;
    const { stage, timeline } = this.#hosts;
    for (const host of [stage, timeline]) {
      host.addEventListener("click", (event) => {
        const target = this.#targetOf(event);
        if (target) this.#select(host, target);
        else if (host === stage) emit(host, "hw-select", null);
      }, { signal });
      host.addEventListener("contextmenu", (event) => {
        const target = this.#targetOf(event);
        if (target) this.#menu(event, host, target);
      }, { signal });
    }
    stage.addEventListener("pointermove", (event) => {
      const target = this.#targetOf(event);
      const id = target?.type === "record" ? target.id : "";
      if (id === this.#hovered) return;
      this.#hovered = id;
      emit(stage, "hw-hover", id ? target : null);
    }, { signal });
    stage.addEventListener("keydown", (event) => this.#key(event), { signal });
    stage.addEventListener("scroll", () => (this.#noteOverlays(), this.#frames.wake()), { signal, capture: true, passive: true });
    onNewColours(() => this.#readColours(), { signal });
    matchMedia("(prefers-reduced-motion: reduce)").addEventListener("change", () => this.#redraw(), { signal });
    this.#followResolution(signal);
  }

  /** A query matches one resolution only, so each change needs a new one. @param {AbortSignal} signal */
  #followResolution(signal) {
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => {
      this.#resize();
      this.#followResolution(signal);
    }, { signal, once: true });
  }

  /** @param {MouseEvent} event @returns {Target | null} */
  #targetOf(event) {
    const place = /** @type {Element} */ (event.target);
    const { x, y } = pointOf(event);
    if (this.#parts.spacetime.contains(place)) return this.#spacetime.targetAt(x, y);
    const target = meaning(place);
    return target?.type === "replica" && x ? (this.#strips.targetAt(x, y) ?? target) : target;
  }

  /** Whether it is selected, or a record in it. @param {Target} target */
  #isSelected({ type, id }) {
    const { selected } = this.#strips;
    if (selected?.type === "record" && type === "replica") return selected.id.startsWith(`${id}:`);
    return selected?.type === type && selected.id === id;
  }

  /** @param {HTMLElement} host @param {Target} target */
  #select(host, target) {
    emit(host, "hw-select", target);
  }

  /** @param {MouseEvent} event @param {HTMLElement} host @param {Target} target */
  #menu(event, host, target) {
    const box = boxOf(/** @type {Element} */ (event.target));
    const point = pointOf(event);
    const x = point.x || box.x + box.w / 2;
    const y = point.y || box.y + box.h / 2;
    event.preventDefault();
    if (!emit(host, "hw-context", { ...target, x, y })) return;
    openMenu(this.#player, target, { x, y, t: this.#t, choose: (line) => emit(host, "hw-command", { line }) });
  }

  /**
   * Enter selects what has the focus; once it is selected, Enter and Space are keys of the transport. Arrows walk over
   * lanes and, once a record is selected, over offsets.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    const place = /** @type {SVGElement} */ (event.target);
    const target = meaning(place);
    if (!target) return;
    if (!this.#act(event.key, place, target)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** What a key does at a thing; whether it did something. @param {string} key @param {SVGElement} place @param {Target} target */
  #act(key, place, target) {
    if (key === "Enter" || key === " ") {
      if (this.#isSelected(target)) return false;
      this.#select(this.#hosts.stage, target);
      return true;
    }
    if (key === "ArrowUp" || key === "ArrowDown") {
      const stops = [...this.#hosts.stage.querySelectorAll(".hw-strips [tabindex]")];
      const next = /** @type {SVGElement | undefined} */ (stops[stops.indexOf(place) + (key === "ArrowUp" ? -1 : 1)]);
      next?.focus();
      return next !== undefined;
    }
    if (target.type !== "replica" || (key !== "ArrowLeft" && key !== "ArrowRight")) return false;
    return this.#selectBeside(target.id, key === "ArrowLeft" ? -1 : 1);
  }

  /** Selects the record beside the one that is selected in a replica, else its last one. @param {string} id @param {1 | -1} step */
  #selectBeside(id, step) {
    const { view } = this.#player;
    const replica = view?.replicas[id];
    const selected = this.#strips.selected;
    const end = view && replica ? logEnd(view, replica) : 0;
    if (!replica || end <= replica.log_start_offset) return false;
    const at = selected?.type === "record" && selected.id.startsWith(`${id}:`) ? splitRecord(selected.id)[1] : end;
    const offset = Math.min(end - 1, Math.max(replica.log_start_offset, at + step));
    this.#select(this.#hosts.stage, { type: "record", id: `${id}:${offset}` });
    return true;
  }
}

/** @param {Player} player @returns {TimeMover} */
const moverOf = (player) => ({
  seek: (us) => player.seekTime(us), seekSeq: (seq) => player.seekSeq(seq), goLive: () => player.goLive(),
});

/** @param {HTMLElement} host @param {string} name @param {object | null} detail @returns {boolean} was it left to us? */
function emit(host, name, detail) {
  return host.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, cancelable: true }));
}
