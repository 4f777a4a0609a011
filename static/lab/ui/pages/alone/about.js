// The page's description of itself, and its dialogs.
import { durationText } from "../../../core/player/timemap.js";
import { overlay } from "../../store/api.js";
import { HwElement, html, icon } from "../../kit/element.js";
import { instant, spaced } from "../../kit/format.js";
import { language, t } from "../../kit/i18n.js";
import { facts } from "../../parts/common.js";
import { close, dialog, findDialog, helpDialog, openIn } from "../../shell/common_dialogs.js";
import { player } from "../../store/state.js";
import { about, licences } from "./data.js";
import { setPlace } from "./switches.js";

setPlace(() => ({ seq: String(player.seq) }));

/** A date and time in the reader's time zone. @param {number} ms */
const day = (ms) => new Date(ms).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });

const isWhole = about.events === about.branch_events;
const span = () => t(isWhole ? "alone.whole" : "alone.excerpt", { from: instant(about.from_us), to: instant(about.to_us) });

class HwAbout extends HwElement {
  render() {
    return html`<button class="chip about" title=${t("alone.about")} @click=${() => (overlay.value = { kind: "about" })}>
        ${icon("book")}<span>${t("alone.recording")}</span> <b class="mono">${durationText(about.to_us - about.from_us)}</b></button>`;
  }
}
customElements.define("hw-about", HwAbout);

class HwOverlays extends HwElement {
  updated() {
    openIn(this);
  }

  about() {
    const { name, branch, era, brokers, seed, events, branch_events: all, start_wall_ms: started, saved_ms: saved, version, core } = about;
    return dialog(t("alone.about"), html`<p>${t("alone.what")}</p>
      ${facts([
        [t("alone.run"), name, true],
        [t("alone.branch"), branch, true],
        [t("alone.span"), span(), true],
        [t("alone.events"), isWhole ? spaced(events) : t("alone.events_of", { n: spaced(events), all: spaced(all) }), true],
        [t("alone.cluster"), t("alone.cluster_of", { brokers, era, seed }), true],
        [t("alone.started"), day(started), true],
        [t("alone.saved"), day(saved), true],
        [t("alone.version"), `Highwater ${version} · ${core}`, true],
      ])}
      <p class="dim">${t("alone.not_in")}</p>
      <details><summary>${t("alone.licences")}</summary><pre class="licences" tabindex="0">${licences()}</pre></details>
      <div class="row"><button class="btn pri" autofocus @click=${close}>${t("dialog.close")}</button></div>`);
  }

  render() {
    switch (overlay.value?.kind) {
      case "about": return this.about();
      case "find": return findDialog();
      case "help": return helpDialog();
      default: return html``;
    }
  }
}
customElements.define("hw-overlays", HwOverlays);
