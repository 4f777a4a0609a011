// The panel at the right: tabs, and as a sheet from below on a phone.
import { isAlone } from "../store/api.js";
import { HwElement, byId, html, icon } from "../kit/element.js";
import { onKey } from "../kit/events.js";
import { t } from "../kit/i18n.js";
import { walkTabs } from "../parts/tabs.js";
import { effect, moment, sheetOpen, tab } from "../store/state.js";

const TABS = ["inspect", "rpcs", "purgatory", "znodes", ...(isAlone ? [] : ["files"]), "alarms"];
/** @type {Record<string, () => unknown>} */
const PANELS = {
  inspect: () => html`<hw-inspect></hw-inspect>`,
  rpcs: () => html`<hw-rpcs></hw-rpcs>`,
  purgatory: () => html`<hw-purgatory></hw-purgatory>`,
  znodes: () => html`<hw-tree></hw-tree><hw-znode></hw-znode>`,
  files: () => html`<hw-files></hw-files>`,
  alarms: () => html`<hw-alarms></hw-alarms>`,
};

class HwInspector extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => void byId("inspector").classList.toggle("open", sheetOpen.value));
  }

  render() {
    const { view } = moment.value;
    /** @type {Record<string, number>} */
    const count = { rpcs: Object.keys(view.rpcs).length, purgatory: Object.keys(view.parked).length,
      alarms: Object.keys(view.alarms).length };
    /** @param {string} name */
    const choose = (name) => {
      tab.value = name;
      sheetOpen.value = true;
    };
    /** @param {string} name */
    const number = (name) => (name in count && (count[name] || name !== "alarms")
      ? html`<b class=${name === "alarms" ? "alarm" : ""}>${count[name]}</b>` : "");
    /** @param {string} name */
    const one = (name) => html`<button role="tab" id="tab-${name}" aria-controls="tab-panel" aria-selected=${name === tab.value}
      tabindex=${name === tab.value ? 0 : -1} @click=${() => choose(name)}>${t(`tab.${name}`)}${number(name)}</button>`;
    const walk = onKey((event) => walkTabs(event, TABS, tab.value, choose));
    return html`<h2 class="sr">${t("inspector.title")}</h2><div class="tabs">
        <div class="tab-list" role="tablist" aria-label=${t("inspector.title")} @keydown=${walk}>${TABS.map(one)}</div>
        <button class="ghost sheet" aria-label=${t(sheetOpen.value ? "inspector.close" : "inspector.open")}
          aria-expanded=${sheetOpen.value} @click=${() => (sheetOpen.value = !sheetOpen.value)}>${icon("down")}</button>
      </div>
      <div class="panel" id="tab-panel" role="tabpanel" aria-labelledby="tab-${tab.value}" tabindex="0">${PANELS[tab.value]()}</div>`;
  }
}
customElements.define("hw-inspector", HwInspector);
