// Moving time: play, pause, steps, speed, and going to an instant. A refusal of the player is shown.
import { nextRate } from "../../core/player/timemap.js";
import { refuse } from "./api.js";
import { player, signal } from "./state.js";

/** The last speed asked for; shown at once, before the clock runs at it. */
export const wantedRate = signal(null);
/** Runs a call on the player and shows its refusal. */
async function run(call) {
  try {
    await call();
  } catch (error) {
    refuse(error);
  }
}

export const playing = () => player.mode !== "pause";
export const togglePlay = () => run(() => (playing() ? player.pause() : player.play()));
export const togglePaced = () => run(() => (player.mode === "event_paced" ? player.pause() : player.eventPaced()));
export const step = (direction) => run(() => player.stepEvent(direction));
export const stepRpc = () => run(() => player.stepRpc());
export const goLive = () => run(() => player.goLive());
export const seek = (us) => run(() => player.seekTime(Math.max(0, Math.round(us))));
export const seekSeq = (seq) => run(() => player.seekSeq(Math.max(0, seq)));

/** Sets the speed: simulated time over wall time. */
export async function setRate(rate) {
  const { refusal } = player;
  wantedRate.value = rate;
  await run(() => player.setRate(rate));
  // The server's answer comes before its clock says so. A newer wish may be under way.
  if (player.rate !== rate && player.refusal === refusal) await clockChanged();
  if (wantedRate.value === rate) wantedRate.value = null;
}

/** Resolves once speed or mode are others. */
function clockChanged() {
  return new Promise((resolve) => {
    const stop = player.subscribe(({ what }) => {
      if (!what.has("mode")) return;
      stop();
      resolve();
    });
  });
}

/** One notch slower (-1) or faster (1). */
export const notch = (direction) => setRate(nextRate(wantedRate.value ?? player.rate, direction));
