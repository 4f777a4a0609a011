// The panel at the left: the exercise, or what one can do.
import { HwElement, byId, html } from "../kit/element.js";
import { onKey } from "../kit/events.js";
import { classroom } from "../store/api.js";
import { exercises } from "../store/exercises.js";
import { t } from "../kit/i18n.js";
import { walkTabs } from "../parts/tabs.js";
import { exercise, panels, sideTab } from "../store/state.js";

const TABS = [...(exercises.length ? ["exercise"] : []), "act", ...(classroom ? ["class"] : [])];
/** @type {Record<string, () => unknown>} */
const PANELS = {
  exercise: () => html`<hw-exercise></hw-exercise>`,
  act: () => html`<h2 class="sr">${t("side.act")}</h2><hw-act></hw-act>`,
  class: () => html`<hw-class-panel></hw-class-panel>`,
};

class HwSide extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    const isLesson = exercise.value || byId("lab").dataset.lesson;
    if (!TABS.includes(sideTab.value) || !exercise.value) sideTab.value = isLesson ? "exercise" : "act";
  }

  render() {
    /** @param {string} name */
    const choose = (name) => {
      sideTab.value = name;
      panels.value = { ...panels.value, side: true };
    };
    return html`<div class="tabs" role="tablist" aria-label=${t("side.title")}
      @keydown=${onKey((event) => walkTabs(event, TABS, sideTab.value, choose))}>
        ${TABS.map((name) => html`<button role="tab" aria-controls="side-panel" aria-selected=${name === sideTab.value}
          tabindex=${name === sideTab.value ? 0 : -1} @click=${() => choose(name)}>${t(`side.${name}`)}</button>`)}
      </div>
      <div class="side-panel" id="side-panel" role="tabpanel">
        ${(PANELS[sideTab.value] ?? PANELS.act)()}</div>`;
  }
}
customElements.define("hw-side", HwSide);
