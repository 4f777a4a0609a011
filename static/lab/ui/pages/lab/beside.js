// What the presenter looks at, drawn left of the page's own lab: their picture, their instant, and the screen that they have open.
import { HwElement, byId, html } from "../../kit/element.js";
import { instant } from "../../kit/format.js";
import { t, texts } from "../../kit/i18n.js";
import { createStage } from "../../../draw/stage.js";
import { isBeside, theirs, toggleBeside } from "../../store/beside.js";
import { follow, lead, ledView } from "../../store/follow.js";
import { effect, panels, signal, split } from "../../store/state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Stage } from "../../../draw/stage.js" */
/** @import { Target } from "../../../core/view/selectors.js" */

/** The drawings beside are about another lab than this page's. */
const TOLD = ["hw-select", "hw-hover", "hw-context", "hw-command"];
/** Only the presenter moves time there. */
const still = { seek: () => {}, seekSeq: () => {}, goLive: () => {} };
const SHOWN_MS = 200;

/** The drawings beside; null while there are none. @type {Signal<Stage | null>} */
export const besideStage = signal(null);

class HwBeside extends HwElement {
  #now = signal(0);

  connectedCallback() {
    super.connectedCallback();
    for (const name of TOLD) {
      this.addEventListener(name, (event) => {
        event.stopPropagation();
        event.preventDefault();
      });
    }
    effect(() => void byId("lab").classList.toggle("beside", isBeside.value));
    this.#makeRoom();
    effect(() => {
      const player = theirs.value;
      if (!player) return undefined;
      const timer = setInterval(() => (this.#now.value = player.at_us), SHOWN_MS);
      return () => clearInterval(timer);
    });
    effect(() => this.#draw());
    effect(() => this.#look());
  }

  /** The inspector gives its room to the second picture; opened meanwhile, it stays. */
  #makeRoom() {
    effect(() => {
      if (!isBeside.value || !panels.peek().inspector) return undefined;
      panels.value = { ...panels.peek(), inspector: false };
      return () => (panels.value = { ...panels.peek(), inspector: true });
    });
  }

  /** Draws the lab that is shown. */
  #draw() {
    const player = theirs.value;
    besideStage.peek()?.destroy();
    besideStage.value = null;
    if (!player) return;
    const [picture, time] = /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll(".beside-picture, .beside-time"));
    besideStage.value = createStage({ stage: picture, timeline: time }, player, { t, texts, time: still, mayPan: () => false });
  }

  /** Brings into sight what they have in sight. */
  #look() {
    const [stage, view] = [besideStage.value, ledView.value];
    if (!stage || !view) return;
    const [type, id] = split(view.selection);
    if (view.partition) stage.setTopic(view.partition.replace(/-\d+$/, ""));
    stage.select(type ? { type: /** @type {Target["type"]} */ (type), id } : null);
    stage.showSight(view, view.partition);
  }

  #header() {
    const name = lead.value?.name ?? "";
    const view = ledView.value;
    const screen = view && view.screen !== "picture" ? t(`stage.${view.screen}`) : "";
    return html`<header class="cv-h"><b><bdi>${t("beside.title", { name })}</bdi></b>
        <span class="mono dim">${view ? instant(this.#now.value, 3) : t("beside.waits")}</span><span class="spacer"></span>
        <button class="chip" @click=${follow}>${t("follow.follow", { name })} <kbd>F</kbd></button>
        <button class="chip" @click=${toggleBeside}>${t("beside.close")}</button></header>
      ${screen ? html`<p class="beside-screen" role="status">${t("beside.screen", { name, screen })}</p>` : ""}`;
  }

  /** The hosts of the drawings are always there. */
  render() {
    return html`${isBeside.value ? this.#header() : ""}<div class="beside-picture"></div><div class="beside-time"></div>`;
  }
}
customElements.define("hw-beside", HwBeside);
