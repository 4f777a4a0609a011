// Captions of staff during a class, on every page, which may hide them.
import { choicesOf, displayed, LANGUAGES, show, shown } from "./caption_choice.js";
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { now_us, said, tree } from "../store.js";

/** @import { Language } from "./caption_choice.js" */

/** How long a caption stays after its end, microseconds: the next one may take as long to type. */
const STAYS_US = 4e6;

/** The languages that have captions. @returns {Language[]} */
const there = () => LANGUAGES.filter((one) => said.value[one]?.length);

/** What is still read in a language. @param {Language} of */
function linesOf(of) {
  const spoken = said.value[of] ?? [];
  const last = spoken.at(-1);
  return last && now_us.value < last.to_us + STAYS_US ? spoken : [];
}

class HwLiveCaptions extends HwElement {
  render() {
    const languages = there();
    if (!languages.length || tree.value.class?.ended) return "";
    const lines = displayed(languages).map((of) => ({ of, spoken: linesOf(of) })).filter(({ spoken }) => spoken.length);
    const now = shown.value === "off" || (shown.value === "both" && languages.length > 1) ? shown.value : displayed(languages)[0];
    return html`${lines.length ? html`<div class="caption">${lines.map(({ of, spoken }) => html`<p lang=${of} dir="auto">${
        spoken.map(({ text }, i) => html`<span class=${i < spoken.length - 1 ? "before" : ""}>${text}</span> `)}</p>`)}</div>` : ""}
      <div class="seg" role="group" aria-label=${t("caption.title")} title=${t("caption.title")}>${choicesOf(languages).map(
        (one) => html`<button aria-pressed=${now === one} @click=${() => show(one)}>${t(`caption.choice.${one}`)}</button>`)}</div>`;
  }
}
customElements.define("hw-live-captions", HwLiveCaptions);
