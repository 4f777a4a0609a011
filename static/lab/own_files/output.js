// What comes out of a decompressor: grows as it must, up to a bound, and can repeat what it holds.
import { Unreadable } from "./bytes.js";

export class Output {
  #bytes = new Uint8Array(65_536);
  #most;
  length = 0;

  /** @param {number} most maximum output in bytes: a few bytes of a hostile file could expand to gigabytes */
  constructor(most) {
    this.#most = most;
  }

  /** @param {number} count */
  #reserve(count) {
    const wanted = this.length + count;
    if (wanted > this.#most) throw new Unreadable("inflates", { most: this.#most });
    if (wanted <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.min(this.#most, Math.max(wanted, this.#bytes.length * 2)));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }

  /** @param {Uint8Array} bytes */
  add(bytes) {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** @param {number} byte @param {number} count */
  fill(byte, count) {
    this.#reserve(count);
    this.#bytes.fill(byte, this.length, this.length + count);
    this.length += count;
  }

  /**
   * Repeats `count` bytes from `distance` before the end; they may overlap.
   * @param {number} distance
   * @param {number} count
   * @param {() => Error} wrong for a distance beyond the beginning
   */
  copy(distance, count, wrong) {
    if (distance <= 0 || distance > this.length) throw wrong();
    this.#reserve(count);
    const from = this.length - distance;
    if (distance >= count) this.#bytes.copyWithin(this.length, from, from + count);
    else for (let at = 0; at < count; at++) this.#bytes[this.length + at] = this.#bytes[from + at];
    this.length += count;
  }

  bytes() {
    return this.#bytes.subarray(0, this.length);
  }
}
