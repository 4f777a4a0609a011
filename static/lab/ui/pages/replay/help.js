// The list of the replay's keys.
import { signal } from "@preact/signals-core";
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";

/** Each key and the text that describes it. */
const KEYS = [
  ["Space", "key.play"], [".", "key.forward"], [",", "key.back"], ["Enter", "key.rpc"], ["← →", "replay.key.seconds"],
  ["[ ]", "replay.key.chapter"], ["Home End", "replay.key.ends"], ["/", "replay.search"], ["B", "replay.take_over"],
  ["M", "replay.compare"], ["N", "replay.add_note"], ["S", "replay.key.share"], ["L", "replay.key.loop"],
  ["C", "replay.key.captions"], ["?", "help.title"],
];

export const helpShown = signal(false);

class HwReplayHelp extends HwElement {
  updated() {
    const dialog = this.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
  }

  render() {
    if (!helpShown.value) return "";
    const close = () => void (helpShown.value = false);
    return html`<dialog aria-label=${t("help.title")} @close=${close} @click=${(/** @type {Event} */ { target, currentTarget }) =>
      target === currentTarget && close()}><div class="dialog"><h2>${t("help.title")}</h2>
      <dl class="replay-keys">${KEYS.map(([key, text]) => html`<div><dt>${key.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd
        >${t(text)}</dd></div>`)}</dl><p class="dim">${t("help.note")}</p>
      <div class="row"><button class="btn pri" autofocus @click=${close}>${t("dialog.close")}</button></div></div></dialog>`;
  }
}
customElements.define("hw-replay-help", HwReplayHelp);
