// How much later than the picture the sound is played: staff set it by ear.
import { signal } from "@preact/signals-core";
import { html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { refuse, settle } from "./actions.js";
import * as replay from "./store.js";

const STEP_US = 50_000;
const MAX_US = 2_000_000;

const isBusy = signal(false);

/** @param {number} shift_us */
async function set(shift_us) {
  isBusy.value = true;
  try {
    await replay.send("audio/shift", { shift_us }, "PUT");
    replay.delaySound(shift_us);
    settle();
  } catch (error) {
    refuse(/** @type {Error} */ (error));
  } finally {
    isBusy.value = false;
  }
}

/** For staff, where there is sound. */
export function soundDelay() {
  const { can, live, audio } = replay.manifest.value ?? {};
  if (!can?.correct || live || !audio?.pieces.length) return "";
  const now_us = audio.shift_us;
  const step = (/** @type {number} */ by_us, /** @type {string} */ text) => html`<button class="btn small"
    aria-label=${t(by_us < 0 ? "sound.earlier" : "sound.later")} title=${t(by_us < 0 ? "sound.earlier" : "sound.later")}
    ?disabled=${isBusy.value || Math.abs(now_us + by_us) > MAX_US} @click=${() => void set(now_us + by_us)}>${text}</button>`;
  return html`<div class="delay" role="group" aria-label=${t("sound.delay")}><span>${t("sound.delay")}</span>
    ${step(-STEP_US, "−50")}<span class="mono" role="status">${now_us / 1000} ms</span>${step(STEP_US, "+50")}</div>`;
}
