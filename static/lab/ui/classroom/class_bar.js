// What staff do with the whole class: lead, hold, pause, pace, timer; and its end.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { act, classSlug, clockText, followers, joined, now_us, shownName, tree } from "./store.js";

const HOLD_S = 300;
const TIMES_MIN = [1, 2, 3, 5, 10];

class HwClassBar extends HwElement {
  static properties = { giving: { state: true } };

  constructor() {
    super();
    this.giving = false;
  }

  #lead() {
    const { lead, hold, mine, class: info } = tree.value;
    const lab = mine?.lab ?? "";
    if (!lead) return html`<button class="btn" ?disabled=${!lab} title=${lab ? "" : t("board.no_lab_to_lead")}
      @click=${() => act({ op: "take_lead", lab, after: info?.handout ?? 0 })}>${t("board.take_lead")}</button>`;
    const isMine = lead.p === joined()?.you?.p;
    if (!isMine) return html`<span class="tag select">${t("board.leads", { name: shownName(lead.p, lead.name) })}</span>`;
    return html`${this.#give()}<button class="btn on" aria-pressed="true"
      @click=${() => act({ op: "end_lead" })}>● ${t("board.you_lead", { n: followers().length })}</button>
      ${hold ? html`<button class="btn on" aria-pressed="true" @click=${() => act({ op: "release" })}>${t("board.release",
        { left: clockText(hold - now_us.value) })}</button>`
        : html`<button class="btn" @click=${() => act({ op: "hold", seconds: HOLD_S })}>${t("board.hold")}</button>`}`;
  }

  /** The state of the lab that leads, to everyone; it takes seconds to set aside. */
  #give() {
    const given = Object.keys(tree.value.handouts ?? {}).length;
    return html`<button class="btn" ?disabled=${this.giving} @click=${async () => {
      this.giving = true;
      await act({ op: "give_state" });
      this.giving = false;
    }}>${t(this.giving ? "board.giving" : "board.give_state")}${given ? html` <span class="mono">${given}</span>` : ""}</button>`;
  }

  #pace() {
    const { pace = 0, class: info } = tree.value;
    const steps = info?.steps ?? 0;
    if (!steps) return "";
    return html`<label class="field inline">${t("board.pace")}<select @change=${(/** @type {Event} */ event) =>
      act({ op: "set_pace", step: Number(/** @type {HTMLSelectElement} */ (event.target).value) })}>
      <option value="0" ?selected=${pace === 0}>${t("board.pace_free")}</option>
      ${Array.from({ length: steps }, (_, index) => html`<option value=${index + 1} ?selected=${pace === index + 1}>${t("board.pace_step",
        { n: index + 1 })}</option>`)}
    </select></label>${pace && pace < steps ? html`<button class="btn" @click=${() => act({ op: "set_pace",
      step: pace + 1 })}>${t("board.let_on", { n: pace + 1 })}</button>` : ""}`;
  }

  #timer() {
    const { timer } = tree.value;
    if (timer) {
      const left_us = timer.from_us + timer.seconds * 1e6 - now_us.value;
      return html`<span class="row"><span class="tag warn mono" role="timer">${clockText(left_us)}</span>
        <button class="btn" @click=${() => act({ op: "extend_timer", seconds: 60 })}>${t("board.timer_more")}</button>
        <button class="btn" @click=${() => act({ op: "end_timer" })}>${t("board.timer_end")}</button></span>`;
    }
    return html`<details class="pop up"><summary class="btn">${t("board.timer")}</summary><div class="menu">${TIMES_MIN.map((n) => html`
      <button @click=${() => act({ op: "set_timer", seconds: n * 60 })}>${t("board.timer_min", { n })}</button>`)}</div></details>`;
  }

  #stage() {
    const { stage } = tree.value;
    if (!stage) return "";
    const name = shownName(stage.p, stage.name);
    /** @param {string} text */
    const clear = (text) => html`<button class="btn" @click=${() => act({ op: "clear_stage" })}>${text}</button>`;
    if (!stage.shown) return html`<span class="tag warn">${t("board.stage_asked", { name, left: clockText(stage.until_us
      - now_us.value) })}</span>${clear(t("board.stage_withdraw"))}`;
    return html`${clear(t("board.clear_stage", { name }))}<a class="btn pri" href="/r/${stage.lab}" target="_blank">${
      t("board.stage_open")}</a>`;
  }

  render() {
    const { paused, class: info } = tree.value;
    if (info?.ended) return html`<b>${t("board.the_class")}</b><span class="tag">${t("class.ended")}</span><span class="spacer"></span>
      <a class="btn pri" href="/classes/${classSlug.value}/summary/">${t("summary.title")}</a>`;
    const lab = tree.value.mine?.lab;
    return html`<b>${t("board.the_class")}</b>${this.#lead()}
      ${lab ? html`<a class="btn" href="/r/${lab}" target="_blank">${t("class.own_lab")}</a>` : ""}
      <button class="btn ${paused ? "on" : ""}" aria-pressed=${paused ? "true" : "false"}
        @click=${() => act({ op: paused ? "resume_all" : "pause_all" })}>${paused ? `▶ ${t("board.resume_all")}`
          : `❚❚ ${t("board.pause_all")}`}</button>
      ${this.#pace()}<span class="spacer"></span>${this.#timer()}
      ${this.#stage()}`;
  }
}
customElements.define("hw-class-bar", HwClassBar);

/** The end of the class, which the instructor confirms. */
class HwClassEnd extends HwElement {
  render() {
    const { class: info, mine } = tree.value;
    if (info?.ended || mine?.role !== "instructor") return "";
    return html`<details class="pop up"><summary class="btn">${t("class.end")}</summary><div class="menu">
      <button @click=${() => act({ op: "end_class" })}>${t("class.end_sure")}</button></div></details>`;
  }
}
customElements.define("hw-class-end", HwClassEnd);
