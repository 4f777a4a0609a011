// The captions under the picture, in the selected language.
import { computed, effect, signal } from "@preact/signals-core";
import { lastIndex } from "../../../core/last_index.js";
import { HwElement, html } from "../../kit/element.js";
import { choicesOf, displayed as displayedOf, LANGUAGES, show, shown } from "../../classroom/sound/caption_choice.js";
import { onValue } from "../../kit/events.js";
import { language, t } from "../../kit/i18n.js";
import { refuse } from "./actions.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Choice, Language } from "../../classroom/sound/caption_choice.js" */
/** @typedef {{ cue: number, from_us: number, to_us: number, text: string, source: "typed" | "file" | "recognised" }} Cue */

/** The languages with captions; the page's language first. */
export const languages = computed(() => (replay.manifest.value?.captions ?? []).filter(({ cues }) => cues).map((one) => one.language)
  .sort((a, b) => Number(b === language) - Number(a === language)));
/** By language, by time. @type {Signal<Partial<Record<Language, Cue[]>>>} */
export const cues = signal({});

const displayed = computed(() => displayedOf(languages.value));
/** The language of the transcript. */
export const read = computed(() => displayed.value[0] ?? languages.value[0] ?? language);

let asked = "";
effect(() => {
  const counts = JSON.stringify(replay.manifest.value?.captions ?? []);
  if (counts === asked) return;
  asked = counts;
  for (const one of languages.peek()) {
    replay.ask(`captions/${one}`).then((answer) => take(one, answer.cues)).catch(refuse);
  }
});

/** Replaces the captions of a language. @param {Language} of @param {Cue[]} list */
function take(of, list) {
  cues.value = { ...cues.peek(), [of]: list };
  replay.spoken.value = Object.values(cues.peek()).map((one) => one.map(({ from_us, to_us }) => [from_us, to_us]));
}

/** Like `take`, after a change on this page: also updates the manifest. @param {Language} of @param {Cue[]} list */
export function changed(of, list) {
  take(of, list);
  const now = replay.manifest.peek();
  if (!now) return;
  const captions = LANGUAGES.map((one) => ({ language: one, cues: (cues.peek()[one] ?? []).length })).filter((one) => one.cues);
  asked = JSON.stringify(captions);
  replay.manifest.value = { ...now, captions };
}

/** The cue at an instant. @param {Cue[]} list @param {number} at_us */
function cueAt(list, at_us) {
  const cue = list[lastIndex(list.length, (k) => list[k].from_us <= at_us)];
  return cue && at_us < cue.to_us ? cue : null;
}

class HwReplayCaption extends HwElement {
  /** Where it has a line of its own, that is there also while nothing is said: the picture above stays as it is. */
  updated() {
    this.dataset.languages = String(displayed.value.length);
  }

  render() {
    const said = displayed.value.map((one) => ({ one, cue: cueAt(cues.value[one] ?? [], replay.at_us.value) })).filter(({ cue }) => cue);
    if (!said.length) return "";
    return html`<div class="caption">${said.map(({ one, cue }) => html`<p lang=${one} dir="auto">${cue?.text}</p>`)}</div>`;
  }
}
customElements.define("hw-replay-caption", HwReplayCaption);

/** The choices for the transport. */
export function captionChoice() {
  const there = languages.value;
  if (!there.length) return "";
  const now = shown.value === "off" ? "off" : shown.value === "both" && there.length > 1 ? "both" : displayed.value[0];
  return html`<select class="chip" aria-label=${t("caption.title")} title="${t("caption.title")} ( C )" @change=${onValue((to) =>
    show(/** @type {Choice} */ (to)))}>${choicesOf(there).map((one) => html`<option value=${one} .selected=${now === one}>${t(
    one === "off" ? "caption.choice.off" : "caption.shown", { language: t(`caption.choice.${one}`) })}</option>`)}</select>`;
}
