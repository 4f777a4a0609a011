import assert from "node:assert/strict";
import { test } from "node:test";

import { Voice } from "../../../static/lab/core/replay/voice.js";

const S = 1e6;
const audio = { lost: [], voice: [], shift_us: 100_000,
  pieces: [{ piece: 0, at_us: 10 * S, length_us: 62 * S }, { piece: 1, at_us: 70 * S, length_us: 30 * S }] };

function elementOf() {
  return { currentTime: 0, playbackRate: 1, paused: true, seeking: false, ended: false, readyState: 4, src: "", preservesPitch: false,
    play() {
      this.paused = false;
      return Promise.resolve();
    },
    pause() {
      this.paused = true;
    },
    /** @type {Record<string, () => void>} */
    listeners: {},
    addEventListener(name, listener) {
      this.listeners[name] = listener;
    } };
}

/** @param {any[]} [broken] what it says could not be played */
const voiceOf = (element, broken = []) =>
  new Voice(element, (piece) => `/audio/${piece}`, audio, (pieces) => broken.splice(0, broken.length, ...pieces));

test("while a piece plays, it determines the time of the class", () => {
  const element = elementOf();
  const voice = voiceOf(element);
  assert.equal(element.preservesPitch, true);
  voice.play(20 * S, 2);
  assert.deepEqual([element.src, element.currentTime, element.playbackRate, element.paused], ["/audio/0", 9.9, 2, false]);
  element.currentTime = 11;
  assert.equal(voice.at_us, 21.1 * S);
});

test("where no sound was recorded, the clock determines the time", () => {
  const element = elementOf();
  const voice = voiceOf(element);
  voice.play(20 * S, 1);
  voice.play(5 * S, 1);
  assert.equal(element.paused, true);
  assert.equal(voice.at_us, null);
  assert.equal(voice.pieceAt(101 * S), null);
});

test("of two overlapping pieces the later one is played", () => {
  const voice = voiceOf(elementOf());
  assert.equal(voice.pieceAt(70 * S).piece, 0);
  assert.equal(voice.pieceAt(71 * S).piece, 1);
});

test("a piece whose sound is shorter than its length does not begin again", () => {
  const element = elementOf();
  const voice = voiceOf(element);
  voice.play(69 * S, 1);
  Object.assign(element, { currentTime: 58.85, ended: true, paused: true });
  voice.play(69.05 * S, 1);
  assert.deepEqual([element.paused, element.currentTime, voice.at_us], [true, 58.85, null]);
  voice.play(20 * S, 1);
  assert.deepEqual([element.paused, element.currentTime], [false, 9.9]);
});

test("a difference of less than 120 ms is not corrected", () => {
  const element = elementOf();
  const voice = voiceOf(element);
  voice.play(20 * S, 1);
  element.currentTime += 0.1;
  voice.play(20 * S, 1);
  assert.equal(element.currentTime, 10);
  element.currentTime += 0.1;
  voice.play(20 * S, 1);
  assert.ok(Math.abs(element.currentTime - 9.9) < 1e-9);
});

test("a piece that cannot be played is skipped, and tried again at the next press of play", () => {
  const element = elementOf();
  const broken = [];
  const voice = voiceOf(element, broken);
  voice.play(20 * S, 1);
  element.listeners.error();
  assert.deepEqual(broken.map(({ piece }) => piece), [0]);
  voice.play(21 * S, 1);
  assert.deepEqual([element.paused, voice.at_us], [true, null], "the clock leads");
  voice.play(72 * S, 1);
  assert.deepEqual([element.src, element.paused], ["/audio/1", false], "the next piece is heard");
  voice.allow();
  assert.deepEqual(broken, []);
  voice.play(21 * S, 1);
  assert.equal(element.src, "/audio/0");
});

test("sound is off only if the browser requires a gesture first", async () => {
  for (const [name, paused] of [["NotAllowedError", true], ["AbortError", false]]) {
    const element = elementOf();
    element.play = () => Promise.reject(Object.assign(new Error(), { name }));
    const voice = voiceOf(element);
    voice.play(20 * S, 1);
    await Promise.resolve();
    await Promise.resolve();
    element.play = elementOf().play;
    voice.play(20.1 * S, 1);
    assert.equal(element.paused, paused, name);
  }
});
