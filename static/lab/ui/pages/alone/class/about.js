// The description of the page of a class.
import { signal } from "@preact/signals-core";
import { HwElement, html, icon } from "../../../kit/element.js";
import { language, t } from "../../../kit/i18n.js";
import { clockText } from "../../../classroom/store.js";
import { setPlace } from "../switches.js";
import * as replay from "../../replay/store.js";
import { about, licences } from "./data.js";

setPlace(() => ({ at: replay.addressTime(replay.atNow()) }));

const shown = signal(false);
const begins_us = about.first_us ?? 0;
const isWhole = begins_us === 0 && about.length_us === about.whole_us;
/** A date and time in the reader's time zone. @param {number} ms */
const day = (ms) => new Date(ms).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });

class HwAbout extends HwElement {
  render() {
    return html`<button class="chip about" title=${t("alone.about")} @click=${() => (shown.value = true)}>
      ${icon("book")}<span>${t("alone.recording")}</span> <b class="mono">${clockText(about.length_us - begins_us)}</b></button>`;
  }
}
customElements.define("hw-about", HwAbout);

class HwOverlays extends HwElement {
  updated() {
    const dialog = this.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
  }

  render() {
    if (!shown.value) return "";
    const close = () => void (shown.value = false);
    const span = t("alone.excerpt", { from: clockText(begins_us), to: clockText(about.length_us) });
    /** @type {[string, unknown][]} */
    const facts = [
      [t("alone.class"), about.title],
      [t("alone.class_span"), isWhole ? t("alone.class_whole", { length: clockText(about.length_us) }) : span],
      [t("alone.class_given"), day(about.wall_ms ?? 0)],
      [t("alone.saved"), day(about.saved_ms)],
      [t("alone.version"), `Highwater ${about.version}`],
    ];
    return html`<dialog aria-label=${t("alone.about")} @close=${close}><div class="dialog"><h2>${t("alone.about")}</h2>
      <p>${t("alone.class_what")}</p>
      <dl class="replay-keys">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>
      ${about.left_out ? html`<p class="message warn">${t("alone.class_no_sound")}</p>` : ""}
      <p class="dim">${t("alone.class_not_in")}</p>
      <details><summary>${t("alone.licences")}</summary><pre class="licences" tabindex="0">${licences()}</pre></details>
      <div class="row"><button class="btn pri" autofocus @click=${close}>${t("dialog.close")}</button></div></div></dialog>`;
  }
}
customElements.define("hw-overlays", HwOverlays);
