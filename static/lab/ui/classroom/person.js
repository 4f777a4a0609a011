// The dialog of a participant: how they are, and what staff can do for them.
import { HwElement, html } from "../kit/element.js";
import { language, t } from "../kit/i18n.js";
import { instant } from "../kit/format.js";
import { act, clockText, joined, now_us, opened, presenceText, shownName, stuckText, tree } from "./store.js";
import { instantLink } from "./hands.js";
import "./refusal.js";
import { stepRow } from "./tile.js";

/** @import { Person } from "../../core/classroom/class.d.ts" */

const ROLES = ["learner", "co-instructor", "observer", "projector"];

class HwPerson extends HwElement {
  updated() {
    const dialog = this.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
  }

  /** @param {SubmitEvent} event */
  async #note(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const text = String(new FormData(form).get("note")).trim();
    if (text && await act({ op: "send_note", p: opened.peek(), text, lang: language })) form.reset();
  }

  /** @param {string} p @param {Person} person */
  #work(p, person) {
    const me = joined()?.you?.p ?? "";
    const looks = person.looked_by?.includes(me);
    const help = person.help;
    return html`<p class="row">${stepRow(person, tree.value.class?.steps ?? 0)}</p>
      ${person.lab_refused ? html`<p class="tag bad">${t(`board.lab_refused.${person.lab_refused}`)}</p>` : ""}
      ${person.stuck ? html`<p><span class="tag ${person.stuck === "asks" ? "warn" : "bad"}">${stuckText(person)}</span>
        ${person.stuck === "asks" ? "" : html`<button class="btn small" @click=${() => act({ op: "see_stuck",
          p })}>${t("board.saw_it")}</button>`}</p>` : ""}
      ${person.hand?.lab ? html`<p>${t("board.hand_at")} ${instantLink(p, person.hand, instant(person.hand.at_us, 3))}</p>` : ""}
      <div class="button-row">
        ${looks ? html`<a class="btn pri" href=${`/r/${person.lab}`}>${t("board.open_lab")}</a>
            <button class="btn" @click=${() => act({ op: "end_look", p })}>${t("board.end_look")}</button>`
          : html`<button class="btn" ?disabled=${!person.lab} @click=${() => act({ op: "look", p })}>${t("board.look")}</button>`}
        ${help?.by === me && !help.until_us ? html`<button class="btn" @click=${() => act({ op: "end_help",
          p })}>${t("board.end_help")}</button>`
          : html`<button class="btn" ?disabled=${!person.lab || Boolean(help)} @click=${() => act({ op: "begin_help",
            p })}>${t("board.begin_help")}</button>`}
        ${person.hand ? html`<button class="btn" @click=${() => act({ op: "lower_hand", p })}>${t("board.lower_hand")}</button>` : ""}
        ${this.#stage(p, person)}
      </div>
      <p class="dim">${t("board.look_note")}</p>
      <label class="field inline">${t("board.time_percent")}<select @change=${(/** @type {Event} */ event) =>
        act({ op: "extend_time", p, percent: Number(/** @type {HTMLSelectElement} */ (event.target).value) })}>
        ${[100, 150, 200].map((n) => html`<option value=${n} ?selected=${person.time_percent === n}>${n} %</option>`)}</select></label>`;
  }

  /** The invitation to the stage, and what became of it. @param {string} p @param {Person} person */
  #stage(p, person) {
    const { stage } = tree.value;
    const isTheirs = stage?.p === p;
    const name = shownName(p, person.name);
    const text = !isTheirs ? t("board.ask_stage") : stage.shown ? t("board.on_stage")
      : t("board.stage_asked", { name, left: clockText(stage.until_us - now_us.value) });
    const declined = person.stage_refusals ?? 0;
    const why = !person.may_be_asked ? t("board.stage_not_again") : stage && !isTheirs ? t("board.stage_taken") : "";
    return html`<button class="btn" ?disabled=${!person.lab || Boolean(stage) || !person.may_be_asked}
        @click=${() => act({ op: "ask_stage", p })}>${text}</button>
      ${why ? html`<span class="dim">${why}</span>` : ""}
      ${isTheirs ? html`<button class="btn" @click=${() => act({ op: "clear_stage" })}>${stage.shown ? t("board.clear_stage", { name })
        : t("board.stage_withdraw")}</button>` : ""}
      ${declined ? html`<span class="tag warn" role="status">${t("board.stage_declined", { n: declined })}</span>` : ""}`;
  }

  /** @param {string} p @param {Person} person */
  #roles(p, person) {
    const isOwner = joined()?.you?.role === "instructor";
    if (person.role === "instructor") return "";
    return html`<div class="button-row">${isOwner ? html`<label class="field inline">${t("board.role_title")}<select
      @change=${(/** @type {Event} */ event) =>
        act({ op: "give_role", p, role: /** @type {HTMLSelectElement} */ (event.target).value })}>
        ${ROLES.map((role) => html`<option value=${role}
          ?selected=${person.role === role}>${t(`board.role.${role}`)}</option>`)}</select></label>` : ""}
      <button class="btn danger" @click=${async () => (await act({ op: "kick", p })) && (opened.value = "")}>${
        t("board.kick")}</button></div>`;
  }

  render() {
    const p = opened.value;
    const person = tree.value.people?.[p];
    if (!person) return "";
    const name = shownName(p, person.name);
    return html`<dialog aria-labelledby="person-name" @close=${() => (opened.value = "")}>
      <header><h2 id="person-name"><bdi>${name}</bdi></h2><span class="tag">${t(`board.role.${person.role}`)}</span>
        <span class="tag">${presenceText(p, person)}</span><span class="spacer"></span>
        <button class="btn small" autofocus @click=${() => (opened.value = "")}>${t("board.close")}</button></header>
      <hw-class-refusal></hw-class-refusal>
      ${person.role === "learner" ? this.#work(p, person) : ""}
      <form class="note" @submit=${this.#note}><label class="field">${t("board.note_to", { name })}<textarea name="note" rows="2"
        maxlength="2000"></textarea></label>
        <button class="btn small">${t("board.send_note")}</button></form>
      ${Object.values(tree.value.notes ?? {}).filter((note) => note.to === p || note.from === p).map((note) => html`<p class="sent"
        lang=${note.lang}>
        <small class="mono">${clockText(note.sent_us)}${note.from === p ? " ←" : " →"}</small> ${note.text}</p>`)}
      ${this.#roles(p, person)}</dialog>`;
  }
}
customElements.define("hw-person", HwPerson);
