// The one caller of requestAnimationFrame. A frame: take what has come, apply it, move time on, draw what is dirty.
// It sleeps when nothing is dirty and nothing moves. What has come is drawn in the next frame; where nothing but time has
// moved, frames are left out on a machine to which they cost much, so that what comes next need not wait for them. For the
// same reason drawings that keep a pace take turns: at most one of them in a frame.

/** @import { Player } from "../core/player/player.js" */

/**
 * A drawing. `draw` is called in each frame in which it is dirty; it returns whether it wants to draw again in the next.
 * `pace_ms`: minimum interval; without it, or with 0, it is drawn in each frame in which it is dirty.
 * @typedef {{ dirty: boolean, pace_ms?: number, draw: () => boolean | void }} Drawing
 */

/** Patches may take this part of a frame. Drawing costs more than what a batch's patches do: better a long frame than two. */
const BUDGET_MS = 16;
/** Frames in which nothing but time has moved may take this part of the page's time. */
const MOTION_SHARE = 0.4;

export class Frames {
  #player;
  /** @type {Drawing[]} */
  #drawings;
  #drawn;
  #asked = 0;
  /** When the last frame began, and what frames cost: script, style, layout and paint, in ms. */
  #began_ms = 0;
  #cost_ms = 0;
  /** When those that keep a pace were drawn. @type {Map<Drawing, number>} */
  #drawn_ms = new Map();
  /** Its message is handled after the frame in which it was sent has been painted. */
  #after = new MessageChannel();
  /** Whether there were changes or input since the last drawn frame. */
  #isDirty = true;

  /**
   * @param {Player} player
   * @param {Drawing[]} drawings in the order in which they are drawn
   * @param {() => void} [drawn] called after each frame
   */
  constructor(player, drawings, drawn = () => {}) {
    this.#player = player;
    this.#drawings = drawings;
    this.#drawn = drawn;
    this.#after.port1.onmessage = () => (this.#cost_ms += (performance.now() - this.#began_ms - this.#cost_ms) * 0.2);
    player.wake = () => this.wake();
    this.wake();
  }

  /** Asks for a frame because there is something new to draw. */
  wake() {
    this.#isDirty = true;
    this.#ask();
  }

  stop() {
    cancelAnimationFrame(this.#asked);
    this.#after.port1.close();
    this.#player.wake = () => {};
  }

  #ask() {
    if (!this.#asked) this.#asked = requestAnimationFrame((now) => this.#frame(now));
  }

  /** @param {number} now */
  #frame(now) {
    if (!this.#isDirty && !this.#player.isBehind && now - this.#began_ms < this.#cost_ms / MOTION_SHARE) {
      this.#asked = 0;
      this.#ask();
      return;
    }
    this.#began_ms = performance.now();
    this.#after.port2.postMessage(null);
    let again;
    try {
      again = this.#draw(now);
    } finally {
      this.#asked = 0; // a drawing that throws must not stop the others for good
      this.#isDirty = false;
    }
    // One that keeps a pace waits for a frame that others want: while time runs there are many.
    if (again || this.#drawings.some((drawing) => drawing.dirty && !drawing.pace_ms)) this.#ask();
  }

  /** @param {number} now */
  #draw(now) {
    let again = this.#player.tick(BUDGET_MS);
    const turn = this.#whoseTurn(now);
    for (const drawing of this.#drawings) {
      if (!drawing.dirty || (drawing.pace_ms && drawing !== turn)) continue;
      drawing.dirty = false;
      this.#drawn_ms.set(drawing, now);
      if (drawing.draw()) again = drawing.dirty = true;
    }
    this.#player.painted();
    this.#drawn();
    return again;
  }

  /** Of the dirty drawings that keep a pace the one that is most overdue; null when none is. @param {number} now */
  #whoseTurn(now) {
    /** @type {Drawing | null} */
    let turn = null;
    let most = 1;
    for (const drawing of this.#drawings) {
      if (!drawing.dirty || !drawing.pace_ms) continue;
      const overdue = (now - (this.#drawn_ms.get(drawing) ?? -Infinity)) / drawing.pace_ms;
      if (overdue < most) continue;
      most = overdue;
      turn = drawing;
    }
    return turn;
  }
}
