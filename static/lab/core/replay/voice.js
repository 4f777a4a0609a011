// The voice of a recorded class: pieces of audio that overlap. While one plays, its time is the time of the class.

import { lastIndex } from "../last_index.js";

/** @import { Manifest, Piece } from "./manifest.d.ts" */

/** The voice is set anew where it is further than this from where it should be. */
const OFF_S = 0.12;
/** HTMLMediaElement.HAVE_CURRENT_DATA. */
const HAS_DATA = 2;

export class Voice {
  #element;
  #addressOf;
  #audio;
  /** @type {Piece | null} */
  #piece = null;
  #is_muted = false;

  /** @param {HTMLAudioElement} element @param {(piece: number) => string} addressOf a piece @param {Manifest["audio"]} audio */
  constructor(element, addressOf, audio) {
    this.#element = element;
    this.#addressOf = addressOf;
    this.#audio = audio;
    element.preservesPitch = true;
    element.preload = "auto";
  }

  get isThere() {
    return this.#audio.pieces.length > 0;
  }

  /** The pieces that are known now. @param {Manifest["audio"]} audio */
  set audio(audio) {
    this.#audio = audio;
  }

  /** The piece that is heard at an instant: the last one that has begun. @param {number} at_us */
  pieceAt(at_us) {
    const { pieces, shift_us } = this.#audio;
    const piece = pieces[lastIndex(pieces.length, (k) => pieces[k].at_us + shift_us <= at_us)];
    return piece && at_us < piece.at_us + shift_us + piece.length_us ? piece : null;
  }

  /** The instant of the class that is heard; null while nothing is. */
  get at_us() {
    const { paused, seeking, readyState, currentTime, ended } = this.#element;
    if (!this.#piece || paused || seeking || ended || readyState < HAS_DATA) return null;
    return this.#piece.at_us + this.#audio.shift_us + currentTime * 1e6;
  }

  /** Plays from an instant on, or goes on there; silent where nothing was recorded. @param {number} at_us @param {number} speed */
  play(at_us, speed) {
    const piece = this.pieceAt(at_us);
    if (!piece) return this.pause();
    if (piece !== this.#piece) {
      this.#piece = piece;
      this.#element.src = this.#addressOf(piece.piece);
    }
    const wanted_s = (at_us - piece.at_us - this.#audio.shift_us) / 1e6;
    if (Math.abs(this.#element.currentTime - wanted_s) > OFF_S) this.#element.currentTime = wanted_s;
    if (this.#element.playbackRate !== speed) this.#element.playbackRate = speed;
    if (this.#element.paused && !this.#is_muted) {
      // A browser that refuses to play before a gesture leaves the picture to the clock.
      this.#element.play().catch(() => (this.#is_muted = true));
    }
    return undefined;
  }

  /** A gesture has allowed sound. */
  allow() {
    this.#is_muted = false;
  }

  pause() {
    if (!this.#element.paused) this.#element.pause();
  }
}
