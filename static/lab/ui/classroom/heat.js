// Learners by steps: the result of each step, with a sign and a name in each cell.
import { HwElement, html, nothing } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { board } from "./board_state.js";
import { learners, minutes, now_us, opened, presenceText, shownName, sorted, stuckText, tree } from "./store.js";
import { SIGNS, stepSign } from "./tile.js";

/** @import { Person } from "../../core/classroom/class.d.ts" */

/** Since when a learner needs help. @param {Person} person */
const since = ({ stuck, stuck_us, hand }) => (stuck === "asks" ? hand?.raised_us : stuck_us) ?? now_us.value;

class HwHeat extends HwElement {
  static properties = { plain: { type: Boolean } };

  constructor() {
    super();
    /** For a narrow place: only the steps, each learner's state in a word, and a legend; names open nothing. */
    this.plain = false;
  }

  render() {
    const steps = tree.value.class?.steps ?? 0;
    const people = sorted(learners(), board.value.sort);
    if (!people.length) return html`<p class="nobody">${t("board.nobody")}</p>`;
    const numbers = Array.from({ length: steps }, (_, index) => index + 1);
    const done = numbers.map((step) => people.filter(([, person]) => ["done", "hinted"].includes(person.signs?.[step] ?? "")).length);
    return html`<div class="heat-frame" tabindex=${this.plain ? "0" : nothing}><table class="heat"><caption
      class="sr">${t("board.heat_caption")}</caption>
      <thead><tr><th scope="col">${t("board.learner")}</th>${numbers.map((step) => html`<th scope="col">${step}</th>`)}
        <th scope="col">${t(this.plain ? "board.for" : "board.on_step")}</th>
        ${this.plain ? "" : html`<th scope="col">${t("board.predictions")}</th>`}
        <th scope="col">${t("board.state")}</th></tr></thead>
      <tbody>${people.map(([p, person]) => html`<tr>
        <th scope="row">${this.plain ? html`<bdi>${shownName(p, person.name)}</bdi>` : html`<button class="link-button"
          @click=${() => (opened.value = p)}><bdi>${shownName(p, person.name)}</bdi></button>`}</th>
        ${numbers.map((step) => {
          const { look, sign } = stepSign(person, step);
          return html`<td class="cell ${look}"><span aria-hidden="true">${sign}</span><span
            class="sr">${t(`board.sign.${look}`)}</span></td>`;
        })}
        <td class="mono">${person.stuck ? t("board.min", { n: minutes(since(person)) }) : ""}</td>
        ${this.plain ? "" : html`<td class="mono">${person.settled
          ? t("board.right_of", { n: person.right, of: person.settled }) : "—"}</td>`}
        <td class="word ${person.stuck ? "needs" : ""}" title=${stuckText(person)}>${this.#state(p, person)}</td></tr>`)}</tbody>
      <tfoot><tr><th scope="row">${t("board.have_done")}</th>${done.map((n) => html`<td
        class="mono">${n}</td>`)}<td></td>${this.plain ? "" : html`<td></td>`}<td></td></tr></tfoot>
    </table></div>${this.plain ? html`<ul class="heat-legend" aria-hidden="true">${Object.entries(SIGNS).map(([look, sign]) =>
      look === "none" ? "" : html`<li><i class="steps"><i class=${look}>${sign}</i></i>${t(`board.sign.${look}`)}</li>`)}</ul>` : ""}`;
  }

  /** @param {string} p @param {Person} person */
  #state(p, person) {
    if (!this.plain || !person.stuck) return stuckText(person) || presenceText(p, person);
    return person.stuck === "asks" ? t("board.hand") : t(`board.stuck_word.${person.stuck}`);
  }
}
customElements.define("hw-heat", HwHeat);
