// The voice of a recorded class: pieces of audio that overlap. While one plays, its time is the time of the class.

import { lastIndex } from "../last_index.js";

/** @import { Manifest, Piece } from "./manifest.d.ts" */

/** The voice is repositioned if it is further than this from where it should be. */
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
  /** Pieces that could not be played, by number. @type {Map<number, Piece>} */
  #broken = new Map();
  #breaks;

  /**
   * @param {HTMLAudioElement} element @param {(piece: number) => string} addressOf a piece @param {Manifest["audio"]} audio
   * @param {(pieces: Piece[]) => void} breaks is given the pieces that could not be played, whenever that changes
   */
  constructor(element, addressOf, audio, breaks) {
    this.#element = element;
    this.#addressOf = addressOf;
    this.#audio = audio;
    this.#breaks = breaks;
    element.preservesPitch = true;
    element.preload = "auto";
    element.addEventListener("error", () => this.#break());
  }

  get isThere() {
    return this.#audio.pieces.length > 0;
  }

  /** The pieces that are known now. @param {Manifest["audio"]} audio */
  set audio(audio) {
    this.#audio = audio;
  }

  /** The piece that plays at an instant: the last one that has begun. @param {number} at_us */
  pieceAt(at_us) {
    const { pieces, shift_us } = this.#audio;
    const piece = pieces[lastIndex(pieces.length, (k) => pieces[k].at_us + shift_us <= at_us)];
    return piece && at_us < piece.at_us + shift_us + piece.length_us ? piece : null;
  }

  /** The instant of the class that plays; null while nothing does. */
  get at_us() {
    const { paused, seeking, readyState, currentTime, ended } = this.#element;
    if (!this.#piece || paused || seeking || ended || readyState < HAS_DATA) return null;
    return this.#piece.at_us + this.#audio.shift_us + currentTime * 1e6;
  }

  /** Plays from an instant on, or continues there; silent where nothing was recorded. @param {number} at_us @param {number} speed */
  play(at_us, speed) {
    const piece = this.pieceAt(at_us);
    if (!piece || this.#broken.has(piece.piece)) return this.pause();
    if (piece !== this.#piece) {
      this.#piece = piece;
      this.#element.src = this.#addressOf(piece.piece);
    }
    const wanted_s = (at_us - piece.at_us - this.#audio.shift_us) / 1e6;
    // Its sound may end before its length does. Played again, it would start from its beginning, and take the picture along.
    if (this.#element.ended && wanted_s > this.#element.currentTime - OFF_S) return undefined;
    if (Math.abs(this.#element.currentTime - wanted_s) > OFF_S) this.#element.currentTime = wanted_s;
    if (this.#element.playbackRate !== speed) this.#element.playbackRate = speed;
    if (this.#element.paused && !this.#is_muted) {
      // A browser that refuses to play before a gesture leaves the picture to the clock.
      this.#element.play().catch(({ name }) => (this.#is_muted ||= name === "NotAllowedError"));
    }
    return undefined;
  }

  /** The piece is damaged, in a format that the browser does not play, or was not received: the picture continues without it. */
  #break() {
    if (!this.#piece) return;
    this.#broken.set(this.#piece.piece, this.#piece);
    this.#piece = null;
    this.#breaks([...this.#broken.values()]);
  }

  /** A gesture has allowed sound; what could not be played is tried again. */
  allow() {
    this.#is_muted = false;
    if (!this.#broken.size) return;
    this.#broken.clear();
    this.#breaks([]);
  }

  pause() {
    if (!this.#element.paused) this.#element.pause();
  }
}
