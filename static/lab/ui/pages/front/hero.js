// The recording on the front page: the player on a one-file recording, at the file's pace.
import { SCHEMA } from "../../../core/events/events.gen.js";
import { lastIndex } from "../../../core/last_index.js";
import { Player } from "../../../core/player/player.js";
import { Mini } from "../../../draw/mini.js";
import { Frames } from "../../../draw/raf.js";
import { t, texts } from "../../kit/i18n.js";

/** @import { WireEvent } from "../../../core/events/events.d.ts" */
/** @import { View } from "../../../core/view/view.d.ts" */

/**
 * @typedef {{ partition: string, captions: [number, string][], pace: [number, number][], first_seq: number, at_us:
 * number, state: View,
 *             events: WireEvent[] }} File `captions`: from an instant on; `pace`: wall milliseconds and the instants
 * shown then
 */

/** Answers the player's two requests from the file. @param {File} file @returns {typeof fetch} */
function answering({ first_seq, at_us, state, events }) {
  const last = events[events.length - 1];
  const segment = { n: 0, first_seq, last_seq: last[0], first_at_us: events[0][1], last_at_us: last[1] };
  const index = { run: "hero", branch: "main", name: "", boot: "", schema: SCHEMA, first_seq, last_seq: last[0], last_at_us: last[1],
    start_wall_ms: 0, segment_events: events.length, segments: [segment], density: { bucket_us: 1, counts: [] }, marks: [], branches: [] };
  return async (address) => {
    const content = String(address).endsWith("index.json") ? index : { n: 0, first_seq, at_us, state, ev: events };
    return /** @type {Response} */ (/** @type {unknown} */ ({ ok: true, json: async () => content }));
  };
}

/** The instant that is shown after a wall time. @param {[number, number][]} pace @param {number} wall_ms */
export function instantAt(pace, wall_ms) {
  const i = lastIndex(pace.length, (k) => pace[k][0] <= wall_ms);
  if (i < 0) return pace[0][1];
  if (i === pace.length - 1) return pace[i][1];
  const [[from_ms, from_us], [to_ms, to_us]] = [pace[i], pace[i + 1]];
  return from_us + ((to_us - from_us) * (wall_ms - from_ms)) / (to_ms - from_ms);
}

/** A page that was hidden continues where it was. */
const MAX_FRAME_MS = 100;

/** "00:11". @param {number} ms */
const clock = (ms) => `${String(Math.floor(ms / 60_000)).padStart(2, "0")}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}`;

/** Plays it in the element of templates/course/hero.html. @param {HTMLElement} root */
export async function startHero(root) {
  new Hero(root, await (await fetch(root.dataset.recording ?? "")).json());
}

class Hero {
  dirty = true;
  #root;
  #file;
  #end_ms;
  #player;
  #frames;
  #mini;
  #at_ms;
  #playing;
  /** Time of the last frame, 0 while paused. */
  #before_ms = 0;
  /** The caption that is shown. */
  #said = "";

  /** @param {HTMLElement} root @param {File} file */
  constructor(root, file) {
    const { pace, captions, at_us, partition } = file;
    this.#root = root;
    this.#file = file;
    this.#end_ms = pace[pace.length - 1][0];
    this.#player = new Player({ url: location.origin, run: "hero", branch: "main", WebSocket: null, at: at_us, fetch: answering(file) });
    this.#mini = new Mini(this.#part("picture"), this.#player, texts, partition);
    // With reduced motion: the instant at which the record is lost.
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const [loss_us] = captions.find(([, id]) => id === "lost") ?? [at_us];
    this.#at_ms = still ? pace[lastIndex(pace.length, (k) => pace[k][1] <= loss_us)][0] : 0;
    this.#playing = !still;
    this.#player.subscribe(() => (this.#mini.dirty = true));
    this.#frames = new Frames(this.#player, [this, this.#mini]);
    this.#listen();
    this.#play(this.#playing);
  }

  /** A part of the template. @param {string} name @returns {any} */
  #part(name) {
    return this.#root.querySelector(`[data-hero=${name}]`);
  }

  #listen() {
    const scrub = this.#part("scrub");
    scrub.max = String(this.#end_ms);
    scrub.addEventListener("input", () => {
      this.#at_ms = Number(scrub.value);
      this.#play(false);
    });
    this.#part("play").addEventListener("click", () => this.#play(!this.#playing));
  }

  /** @param {boolean} playing */
  #play(playing) {
    this.#playing = playing;
    this.#before_ms = 0;
    if (playing && this.#at_ms >= this.#end_ms) this.#at_ms = 0;
    const name = t(playing ? "transport.pause" : "transport.play");
    const button = this.#part("play");
    button.setAttribute("aria-label", name);
    button.title = name;
    this.#root.classList.toggle("plays", playing);
    this.dirty = true;
    this.#frames.wake();
  }

  /** Draws one frame. */
  draw() {
    const now_ms = performance.now();
    const passed_ms = this.#playing && this.#before_ms ? Math.min(MAX_FRAME_MS, now_ms - this.#before_ms) : 0;
    this.#at_ms = Math.min(this.#end_ms, this.#at_ms + passed_ms);
    this.#before_ms = this.#playing ? now_ms : 0;
    if (!this.#player.view) return true;
    this.#show(Math.floor(instantAt(this.#file.pace, this.#at_ms)));
    if (this.#playing && this.#at_ms >= this.#end_ms) queueMicrotask(() => this.#play(false));
    return this.#playing;
  }

  /** @param {number} at_us */
  #show(at_us) {
    this.#player.seekTime(Math.min(at_us, this.#player.live_at_us - 1));
    const scrub = this.#part("scrub");
    scrub.value = String(Math.round(this.#at_ms));
    scrub.style.setProperty("--part", `${(this.#at_ms / this.#end_ms) * 100}%`);
    scrub.setAttribute("aria-valuetext", clock(this.#at_ms));
    this.#part("clock").textContent = `${clock(this.#at_ms)} / ${clock(this.#end_ms)}`;
    this.#part("at").value = String(at_us);
    const { captions } = this.#file;
    const caption = captions.findLast(([from_us]) => from_us <= at_us)?.[1] ?? captions[0][1];
    if (caption !== this.#said) this.#part("caption").textContent = t(`hero.${(this.#said = caption)}`);
    this.#mini.dirty = true;
  }
}
