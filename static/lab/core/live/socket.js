// The connection to a live branch: hello, resume, requests with answers, and coming back after a loss.

import { Refusal } from "../refusal.js";

/** Seconds before the first and, at most, before a later attempt to connect again; each is drawn from zero to its limit. */
const RETRY_FIRST_S = 0.5;
const MAX_RETRY_S = 10;
/** The server does not understand the page, as after an update: the page has to be loaded again. */
const CLOSE_INVALID_FRAME = 4400;
/** Close codes after which reconnecting is pointless. 4403: the right to look has ended. */
const FINAL_CODES = new Set([CLOSE_INVALID_FRAME, 4401, 4403, 4404]);
/** The code of one that asked too much, and how long it has to wait, seconds. */
const CLOSE_TOO_MUCH = 4429;
const TOO_MUCH_S = 30;

/** Whether the page has to be loaded again. @param {{ code: number } | null} final */
export const isOutdated = (final) => final?.code === CLOSE_INVALID_FRAME;

/**
 * `greeting`: more fields of the hello. `final`: why it is closed for good; `why`: the server's reason for a wait before the next attempt.
 * @typedef {{ have: () => number, boot: () => string, schema: string, greeting?: object, onFrame: (frame: any) => void,
 * onState: (state: "connecting" | "open" | "lost", retry_in_s: number, final: { code: number, reason: string } | null, why: string) => void
 * }} Handlers
 */

export class Socket {
  #url;
  #handlers;
  #WebSocket;
  /** @type {WebSocket | null} */
  #socket = null;
  #attempt = 0;
  #ids = 0;
  #closed = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Map<string, { resolve: (frame: any) => void, reject: (refusal: Refusal) => void }>} */
  #waiting = new Map();

  /**
   * @param {string} url
   * @param {Handlers} handlers
   * @param {typeof WebSocket} WebSocketClass
   */
  constructor(url, handlers, WebSocketClass) {
    this.#url = url;
    this.#handlers = handlers;
    this.#WebSocket = WebSocketClass;
    this.#connect();
  }

  get open() {
    return this.#socket?.readyState === 1;
  }

  /** Leaves the present connection and makes a new one at once: the answer to a gap. */
  restart() {
    this.#drop();
    this.#connect();
  }

  /** Lets the connection go; `restart` makes a new one. */
  rest() {
    clearTimeout(this.#timer);
    this.#drop();
  }

  /** Ends it for good. */
  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#drop();
  }

  /** Sends a frame if the connection is open. @param {object} frame */
  send(frame) {
    if (this.open) this.#socket?.send(JSON.stringify(frame));
    return this.open;
  }

  /**
   * Sends a frame that the server answers, and waits for the answer.
   * @param {object} frame without `id`
   * @param {string} [id] by which the server knows the frame when it is sent again
   * @returns {Promise<any>} the answer
   * @throws {Refusal}
   */
  request(frame, id = `u${++this.#ids}`) {
    return new Promise((resolve, reject) => {
      if (this.send({ ...frame, id })) this.#waiting.set(id, { resolve, reject });
      else reject(new Refusal({ code: "lost", what: "There is no connection to the lab." }));
    });
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#handlers.onState("connecting", 0, null, "");
    const socket = (this.#socket = new this.#WebSocket(this.#url));
    socket.onopen = () => {
      const { have, boot, schema, greeting } = this.#handlers;
      this.send({ k: "hello", v: 1, schema, have: have(), boot: boot(), ...greeting });
    };
    socket.onmessage = ({ data }) => {
      if (socket === this.#socket) this.#receive(JSON.parse(data));
    };
    socket.onclose = ({ code, reason }) => {
      if (socket === this.#socket) this.#lost(code, reason);
    };
  }

  /** @param {any} frame */
  #receive(frame) {
    if (frame.k === "welcome") {
      this.#attempt = 0;
      this.#handlers.onState("open", 0, null, "");
    }
    const waiting = frame.id && this.#waiting.get(frame.id);
    if (waiting) {
      this.#waiting.delete(frame.id);
      if (frame.k === "no") waiting.reject(new Refusal(frame));
      else waiting.resolve(frame);
    }
    this.#handlers.onFrame(frame);
  }

  /** @param {number} code @param {string} reason */
  #lost(code, reason) {
    this.#drop();
    if (this.#closed) return;
    if (FINAL_CODES.has(code)) {
      this.#handlers.onState("lost", 0, { code, reason }, "");
      return;
    }
    const limit_s = Math.min(MAX_RETRY_S, RETRY_FIRST_S * 2 ** this.#attempt++);
    const isTooMuch = code === CLOSE_TOO_MUCH;
    const wait_s = Math.random() * limit_s + (isTooMuch ? TOO_MUCH_S : 0);
    this.#handlers.onState("lost", wait_s, null, isTooMuch ? reason : "");
    this.#timer = setTimeout(() => this.#connect(), wait_s * 1000);
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    for (const { reject } of this.#waiting.values())
      reject(new Refusal({ code: "lost", what: "The connection to the lab was lost before the answer came." }));
    this.#waiting.clear();
  }
}
