// Moving time: play, pause, steps, speed, and going to an instant. A refusal of the player is shown.
import { nextRate } from "../../core/player/timemap.js";
import { here, isAlone, notify, refuse, request } from "./api.js";
import { t } from "../kit/i18n.js";
import { steer } from "./interactions.js";
import { effect, moment, player, signal } from "./state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Interaction } from "./interactions.js" */

/** The last speed asked for; shown at once, before the clock runs at it. @type {Signal<number | null>} */
export const wantedRate = signal(null);
/** Whether time goes by steps, of an event or a message: until it is played, or an instant is sought. */
export const stepping = signal(false);
effect(() => {
  if (moment.value.mode !== "pause") stepping.value = false;
});

/**
 * Runs a call on the player and shows its refusal. Says whether it was carried out.
 * @param {Interaction} interaction
 * @param {() => unknown} call
 */
async function run(interaction, call) {
  if (!steer(interaction)) return false;
  stepping.value = interaction === "step" || (interaction === "speed" && stepping.peek());
  try {
    await call();
    return true;
  } catch (error) {
    refuse(error);
    return false;
  }
}

export const playing = () => player.mode !== "pause";
/** A recording that has come to its end begins again. */
const atEnd = () => isAlone && player.seq >= player.live_seq;
export const togglePlay = () => run("play", () => {
  if (playing()) return player.pause();
  if (atEnd()) player.seekSeq(player.first_seq);
  return player.play();
});
export const togglePaced = () => run("play", () => (player.mode === "event_paced" ? player.pause() : player.eventPaced()));
/** One event on, which the lab may have to do, or back, which is a look at the past. @param {1 | -1} direction */
export async function step(direction) {
  const done = await run(direction < 0 ? "seek" : "step", () => player.stepEvent(direction));
  stepping.value = done;
  return done;
}
export const stepRpc = () => run("step", () => player.stepRpc());
export const goLive = () => run("seek", () => player.goLive());
/** @param {number} us */
export const seek = (us) => run("seek", () => player.seekTime(Math.max(0, Math.round(us))));
/** To the first event that there is. */
export const goHome = () => run("seek", () => player.seekSeq(player.first_seq));
/** To an instant by its part of the recording, 0 to 1. @param {number} part */
export const seekPart = (part) => seek(player.first_us + (player.live_at_us - player.first_us) * part);
/** @param {number} seq */
export const seekSeq = (seq) => run("seek", () => player.seekSeq(Math.max(0, seq)));

/** Sets the speed: simulated time over wall time. @param {number} rate */
export async function setRate(rate) {
  if (rate === (wantedRate.peek() ?? player.rate) || !steer("speed")) return;
  const { refusal } = player;
  wantedRate.value = rate;
  await run("speed", () => player.setRate(rate));
  // The server's answer arrives before its clock changes. A newer request may be in progress.
  if (player.rate !== rate && player.refusal === refusal) await clockChanged();
  if (wantedRate.value === rate) wantedRate.value = null;
}

/** Resolves once the speed or the mode has changed. @returns {Promise<void>} */
function clockChanged() {
  return new Promise((resolve) => {
    const stop = player.subscribe(({ what }) => {
      if (!what.has("mode")) return;
      stop();
      resolve();
    });
  });
}

/** The condition at which the run is to pause, while it is set; shown when it is met. */
let awaited = "";
effect(() => {
  const { pauseWhen, mode } = moment.value;
  if (awaited && !pauseWhen && mode === "pause") notify("ok", t("pause.met", { condition: awaited }));
  awaited = pauseWhen;
});

/** Has the run pause by itself; "" takes that back. Says whether it was accepted. @param {string} condition */
export async function pauseWhen(condition) {
  if (!steer("live")) return false;
  if (!condition) awaited = "";
  try {
    await player.setPause(condition);
    return true;
  } catch (error) {
    refuse(error);
    return false;
  }
}

/** Conditions that the server proposes for this run. @returns {Promise<string[]>} */
export const pauseProposals = () => request(`${here.api}/pauses.json`).then((response) => response.json()).catch(() => []);

/** One notch slower (-1) or faster (1). @param {1 | -1} direction */
export const notch = (direction) => setRate(nextRate(wantedRate.value ?? player.rate, direction));
