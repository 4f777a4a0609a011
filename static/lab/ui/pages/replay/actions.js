// What one does with an instant of a recorded class: go on by hand, share it, compare it with one's own lab.
import { signal } from "@preact/signals-core";
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { clockText } from "../../classroom/store.js";
import { lab, place } from "./stage.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */

/** @type {Signal<{ tone: "ok" | "bad", what: string, todo: string } | null>} */
const said = signal(null);
const isBusy = signal(false);
const SAID_MS = 4000;

/** Says why something was not done. @param {Error & { what?: string, todo?: string }} error */
export const refuse = ({ what = "", todo = "", message }) => void (said.value = { tone: "bad", what: what || message, todo });

/** What was refused has been done now. */
export const settle = () => said.peek()?.tone === "bad" && (said.value = null);

/** A new run of one's own that goes on from what is shown. */
export async function takeOver() {
  const at = place();
  if (!at || isBusy.peek() || !replay.manifest.peek()?.can.take_over) return;
  replay.play(false);
  isBusy.value = true;
  try {
    const { href } = await replay.send("take-over", at);
    location.assign(href);
  } catch (error) {
    refuse(/** @type {Error} */ (error));
  } finally {
    isBusy.value = false;
  }
}

/** Copies the address of the instant. */
export async function share() {
  const address = `${location.origin}${replay.classPage}replay/?at=${replay.addressTime(replay.atNow())}`;
  try {
    await navigator.clipboard.writeText(address);
    said.value = { tone: "ok", what: t("replay.copied"), todo: "" };
    setTimeout(() => said.peek()?.tone === "ok" && (said.value = null), SAID_MS);
  } catch {
    said.value = { tone: "ok", what: address, todo: "" };
  }
}

class HwReplayActions extends HwElement {
  render() {
    const found = replay.manifest.value;
    if (!found) return "";
    return html`${found.can.take_over ? html`<button class="btn primary" ?disabled=${lab.value === null || isBusy.value} @click=${takeOver}
        title="${t("replay.take_over_title")} ( B )">${t(isBusy.value ? "replay.taking_over" : "replay.take_over")} <kbd
          >B</kbd></button>` : ""}
      <button class="btn" @click=${share}>${t("replay.share", { at: clockText(replay.at_us.value) })} <kbd>S</kbd></button>`;
  }
}
customElements.define("hw-replay-actions", HwReplayActions);

class HwReplaySaid extends HwElement {
  render() {
    const shown = said.value;
    if (!shown) return "";
    const role = shown.tone === "bad" ? "alert" : "status";
    return html`<div class="message ${shown.tone}" role=${role}><b>${shown.what}</b> ${shown.todo}
      <button class="btn" @click=${() => (said.value = null)}>${t("replay.close")}</button></div>`;
  }
}
customElements.define("hw-replay-said", HwReplaySaid);
