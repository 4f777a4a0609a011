// The one caller of requestAnimationFrame. A frame: take what has come, apply it, move time on, draw what is dirty.
// It sleeps when nothing is dirty and nothing moves.

/** @import { Player } from "../core/player.js" */

/**
 * A drawing. `draw` is called in each frame in which it is dirty; it says whether it wants to draw again in the next.
 * @typedef {{ dirty: boolean, draw: () => boolean | void }} Drawing
 */

/** Patches may take this part of a frame. */
const BUDGET_MS = 4;

export class Frames {
  #player;
  /** @type {Drawing[]} */
  #drawings;
  #asked = 0;
  #last_ms = 0;
  #fps = 60;

  /** @param {Player} player @param {Drawing[]} drawings in the order in which they are drawn */
  constructor(player, drawings) {
    this.#player = player;
    this.#drawings = drawings;
    player.wake = () => this.wake();
    this.wake();
  }

  /** Asks for a frame, if none is asked for yet. */
  wake() {
    if (!this.#asked) this.#asked = requestAnimationFrame((now) => this.#frame(now));
  }

  stop() {
    cancelAnimationFrame(this.#asked);
    this.#player.wake = () => {};
  }

  /** @param {number} now */
  #frame(now) {
    let again = false;
    try {
      again = this.#draw(now);
    } finally {
      this.#asked = 0; // a drawing that throws must not stop the others for good
    }
    if (again || this.#drawings.some((drawing) => drawing.dirty)) this.wake();
  }

  /** @param {number} now */
  #draw(now) {
    const moving = this.#player.tick(BUDGET_MS);
    let again = moving;
    for (const drawing of this.#drawings) {
      if (!drawing.dirty) continue;
      drawing.dirty = false;
      if (drawing.draw()) again = drawing.dirty = true;
    }
    if (this.#last_ms) this.#fps += (1000 / Math.max(1, now - this.#last_ms) - this.#fps) * 0.1;
    this.#last_ms = moving ? now : 0;
    this.#player.painted(this.#fps);
    return again;
  }
}
