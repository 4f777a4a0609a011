// A page's end of a class: the sections that its person may see, kept up to date, and acts with their answers.

import { CLASS_SCHEMA } from "../events/class_events.gen.js";
import { isOutdated, Socket } from "../live/socket.js";
import { apply } from "../view/patch.js";
import { ClassClock } from "./class_time.js";

/** @import { Act, ClassTree, Tile } from "./class.d.ts" */
/** @import { Patch } from "../events/events.d.ts" */
/** @import { Refusal } from "../refusal.js" */
/** @typedef {{ from_us: number, to_us: number, text: string }} Said a caption; instants in class time */

const HERE_MS = 15_000;
/** Tiles come into sight one by one while a wall scrolls, and the server takes ten of these frames per second. */
const SIGHT_MS = 200;
/** How long an act whose answer was lost is resent. */
const ACT_MS = 30_000;
const AGAIN_MS = 500;
/** A reader is still at the previous caption when the next one arrives. */
const SAID_KEPT = 2;

export class ClassRoom {
  /** @type {ClassTree} */
  tree = {};
  /** The labs' pictures, by participant. @type {Record<string, Tile>} */
  tiles = {};
  /** @type {{ p: string, role: string, name: string } | null} */
  you = null;
  title = "";
  /** @type {{ learners: number, observers: number } | null} */
  count = null;
  /** The last captions, by language, the newest at the end. @type {Record<string, Said[]>} */
  said = {};
  /** For staff: who replays the class, with the instant that their page shows. @type {Record<string, number>} */
  catchingUp = {};
  /** How many things a server that is behind leaves out; see lab/runtime/sharing/load.py. */
  shed = 0;
  /** @type {"connecting" | "open" | "lost"} */
  connection = "connecting";
  /** Why the server has closed the connection for good. @type {string} */
  closed = "";
  /** Why the server has this page wait before it connects again; empty if it has not. */
  why = "";
  /** The server was updated: the page has to be loaded again. */
  outdated = false;
  clock;
  #socket;
  #seq = 0;
  #boot = "";
  #changed;
  /** @type {ReturnType<typeof setInterval>} */
  #beat;
  /** @type {string[]} */
  #sight = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #sightTimer;
  #isHidden;
  #lab;
  #shown_us;
  #now_ms;
  /** Acts that the server has, and writes later with those of others: votes. @type {Map<string, Act>} */
  #kept = new Map();

  /**
   * @param {string} url
   * @param {"lab" | "board" | "stage" | "projector" | "replay"} place
   * @param {{ changed: (what: string, room: ClassRoom) => void, frame?: (frame: any) => void, isHidden: () => boolean, lab?: string,
   * shown_us?: () => number, now_ms: () => number,
   * WebSocketClass: typeof WebSocket }} page `changed` is told what is new: tree, tiles, connection, count, catchingUp
   * or said; `lab`: that of the page; `shown_us`: the instant that a replay shows; `frame` gets volatile frames
   */
  constructor(url, place, { changed, frame, isHidden, lab = "", shown_us, now_ms, WebSocketClass }) {
    this.clock = new ClassClock(now_ms);
    this.#changed = (/** @type {string} */ what) => changed(what, this);
    this.#isHidden = isHidden;
    this.#lab = lab;
    this.#shown_us = shown_us;
    this.#now_ms = now_ms;
    this.#socket = new Socket(url, {
      have: () => this.#seq,
      boot: () => this.#boot,
      schema: CLASS_SCHEMA,
      greeting: { place },
      onFrame: (received) => {
        this.#take(received);
        frame?.(received);
      },
      onState: (state, _retry_in_s, final, why) => {
        this.connection = state;
        if (final) this.closed = final.reason || String(final.code);
        if (state !== "connecting") this.why = why; // It holds until the server has accepted the page.
        this.outdated = isOutdated(final);
        this.#changed("connection");
      },
    }, WebSocketClass);
    this.#beat = setInterval(() => this.#here(), HERE_MS);
  }

  /**
   * Does something, once however often it has to be sent.
   * @param {Act} act
   * @returns {Promise<any>} the server's answer
   * @throws {Refusal}
   */
  async act(act) {
    const id = crypto.getRandomValues(new Uint32Array(3)).join("-");
    const until_ms = this.#now_ms() + ACT_MS;
    for (;;) {
      try {
        const answer = await this.#socket.request({ k: "act", do: act }, id);
        if (answer.k === "kept") this.#kept.set(id, act);
        return answer;
      } catch (error) {
        const { code } = /** @type {Refusal} */ (error);
        if (code !== "lost" || this.closed || this.#now_ms() > until_ms) throw error;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }

  /** Sends a volatile frame. @param {object} frame */
  send(frame) {
    return this.#socket.send(frame);
  }

  /** Sends whose tiles are on the screen. @param {string[]} people */
  sees(people) {
    if (people.join() === this.#sight.join()) return;
    this.#sight = people;
    this.#sightTimer ??= setTimeout(() => this.#sendHere(), SIGHT_MS);
  }

  /** Sends whether the page is hidden, and what a replay shows. */
  pageChanged() {
    this.#here();
  }

  close() {
    clearInterval(this.#beat);
    clearTimeout(this.#sightTimer);
    this.#socket.close();
  }

  #here() {
    this.#sendHere();
    this.#socket.send({ k: "time", ms: this.clock.sent_ms });
  }

  #sendHere() {
    clearTimeout(this.#sightTimer);
    this.#sightTimer = undefined;
    this.#socket.send({ k: "here", hidden: this.#isHidden(), sight: this.#sight, lab: this.#lab, at_us: this.#shown_us?.() ?? null });
  }

  /** @param {any} frame */
  #take(frame) {
    switch (frame.k) {
      case "welcome":
        this.you = frame.you;
        this.title = frame.title;
        if (this.#boot !== frame.boot) this.clock.set(frame.class_us);
        this.#boot = frame.boot;
        this.#here();
        for (const [id, act] of this.#kept) this.#socket.send({ k: "act", do: act, id });
        return this.#changed("connection");
      case "snap":
        this.tree = {};
        return this.#advance(frame.upto, frame.patch);
      case "e":
        // Events were missed: a new connection states the page's last event, and gets the rest.
        if (frame.after !== this.#seq) return this.#socket.restart();
        return this.#advance(frame.upto, frame.patch);
      case "tiles":
        for (const [p, tile] of Object.entries(frame.tiles)) {
          if (tile) this.tiles[p] = /** @type {Tile} */ (tile);
          else delete this.tiles[p];
        }
        return this.#changed("tiles");
      case "shed":
        this.shed = frame.step;
        return this.#changed("count");
      case "count":
        this.count = { learners: frame.learners, observers: frame.observers };
        return this.#changed("count");
      case "catching_up":
        this.catchingUp = frame.people;
        return this.#changed("catchingUp");
      case "caption": {
        const { lang, from_us, to_us, text } = frame;
        this.said = { ...this.said, [lang]: [...(this.said[lang] ?? []), { from_us, to_us, text }].slice(-SAID_KEPT) };
        return this.#changed("said");
      }
      case "done":
        this.#kept.delete(frame.id);
        return undefined;
      case "time":
        return this.clock.take(frame.ms, frame.class_us);
      case "bye":
        if (!frame.again) this.closed = frame.why;
        return this.#changed("connection");
    }
  }

  /** @param {number} upto @param {Patch} patch */
  #advance(upto, patch) {
    apply(this.tree, patch);
    this.#seq = upto;
    this.#socket.send({ k: "ack", upto });
    this.#changed("tree");
  }
}
