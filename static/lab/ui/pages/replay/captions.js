// What was said, in words, under the picture.
import { computed, effect, signal } from "@preact/signals-core";
import { lastIndex } from "../../../core/last_index.js";
import { HwElement, html } from "../../kit/element.js";
import { language } from "../../kit/i18n.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @typedef {{ cue: number, from_us: number, to_us: number, text: string, source: string }} Cue */

export const languages = computed(() => (replay.manifest.value?.captions ?? []).filter(({ cues }) => cues).map((one) => one.language));
export const captionsOn = signal(localStorage.getItem("highwater.replay.captions") !== "off");
/** By language, by time. @type {Signal<Record<string, Cue[]>>} */
export const cues = signal({});

export function toggleCaptions() {
  captionsOn.value = !captionsOn.peek();
  localStorage.setItem("highwater.replay.captions", captionsOn.peek() ? "on" : "off");
}

let asked = "";
effect(() => {
  const counts = JSON.stringify(replay.manifest.value?.captions ?? []);
  if (counts === asked) return;
  asked = counts;
  for (const one of languages.peek()) {
    void fetch(`${replay.base}captions/${one}.json`).then((answer) => (answer.ok ? answer.json() : []))
      .then((content) => (cues.value = { ...cues.peek(), [one]: content.cues ?? content })).catch(() => {});
  }
});

/** The cue at an instant. @param {Cue[]} list @param {number} at_us */
export function cueAt(list, at_us) {
  const cue = list[lastIndex(list.length, (k) => list[k].from_us <= at_us)];
  return cue && at_us < cue.to_us ? cue : null;
}

class HwReplayCaption extends HwElement {
  render() {
    if (!captionsOn.value) return "";
    // The page's language first.
    const order = [...languages.value].sort((a, b) => Number(b === language) - Number(a === language));
    const said = order.map((one) => ({ one, cue: cueAt(cues.value[one] ?? [], replay.at_us.value) })).filter(({ cue }) => cue);
    if (!said.length) return "";
    return html`<div class="caption">${said.map(({ one, cue }) => html`<p lang=${one} dir="auto">${cue?.text}</p>`)}</div>`;
  }
}
customElements.define("hw-replay-caption", HwReplayCaption);
