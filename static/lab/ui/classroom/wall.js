// The wall: a tile for each learner's lab, those who need help first.
import { HwElement, html, repeat } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import {
  behindText, catchingUp, joined, learners, minutes, needsHelp, now_us, opened, shownName, sorted, stuckText, tiles, tree, waiting,
} from "./store.js";
import { picture, stepRow } from "./tile.js";
import { board } from "./board_state.js";

/** @import { Person } from "../../core/classroom/class.d.ts" */

const SORT_US = 5e6;

class HwWall extends HwElement {
  /** @type {string[]} */
  #order = [];
  #sorted_us = -Infinity;
  #by = "";
  /** @type {IntersectionObserver | null} */
  #inSight = null;
  /** @type {Set<string>} */
  #seen = new Set();

  connectedCallback() {
    super.connectedCallback();
    this.#inSight = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const p = /** @type {HTMLElement} */ (target).dataset.p ?? "";
        if (isIntersecting) this.#seen.add(p);
        else this.#seen.delete(p);
      }
      joined()?.sees([...this.#seen].sort());
    });
    // Type-ahead: a letter goes to the next learner whose name begins with it.
    this.addEventListener("keydown", (event) => this.#onKey(event));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#inSight?.disconnect();
  }

  updated() {
    this.querySelectorAll(".tile").forEach((tile) => this.#inSight?.observe(tile));
  }

  /** Tiles do not move under the pointer or the focus, and not oftener than every five seconds. @param {[string, Person][]} people */
  #ordered(people) {
    const by = board.value.sort;
    const isSteady = now_us.value - this.#sorted_us < SORT_US || this.matches(":hover, :focus-within");
    const isKept = this.#by === by && this.#order.length > 0 && isSteady;
    if (!isKept) {
      this.#order = sorted(people, by).map(([p]) => p);
      this.#sorted_us = now_us.value;
      this.#by = by;
    }
    const known = new Map(people);
    for (const p of known.keys()) if (!this.#order.includes(p)) this.#order.push(p);
    return this.#order.flatMap((p) => (known.has(p) ? [/** @type {[string, Person]} */ ([p, known.get(p)])] : []));
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const all = /** @type {HTMLElement[]} */ ([...this.querySelectorAll(".tile")]);
    const at = all.findIndex((tile) => tile === document.activeElement);
    if (at < 0) return;
    const columns = all.filter((tile) => tile.offsetTop === all[0].offsetTop).length;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step) {
      event.preventDefault();
      all[Math.min(Math.max(0, at + step), all.length - 1)].focus();
    } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey && event.key.trim()) {
      const found = [...all.slice(at + 1), ...all.slice(0, at)].find((tile) =>
        tile.dataset.name?.toLocaleLowerCase().startsWith(event.key.toLocaleLowerCase()));
      found?.focus();
    }
  }

  /** @param {string} p @param {Person} person */
  #place(p, person) {
    if (person.lab_refused) return t("board.lab_refused");
    if (p in catchingUp.value) return behindText(p, "_tile");
    if (person.presence === "away") return t("board.away");
    if (person.stuck && person.stuck !== "asks") return t(`board.stuck_word.${person.stuck}`);
    const steps = tree.value.class?.steps ?? 0;
    if (steps && (person.step ?? 1) > steps) return t("board.all_done");
    return t(person.follows ? "board.following" : "board.exploring");
  }

  render() {
    const { stage, class: info } = tree.value;
    const people = this.#ordered(learners());
    if (!people.length) return html`<p class="nobody">${t(waiting().length ? "board.nobody_admitted" : "board.nobody")}</p>`;
    /** @param {[string, Person]} learner */
    const tile = ([p, person]) => {
      const name = shownName(p, person.name);
      const isOnStage = stage?.p === p && stage.shown;
      const isDone = (person.step ?? 1) > (info?.steps ?? 0);
      const isInTrouble = needsHelp(person) || person.lab_refused;
      const look = [isInTrouble && "stuck", person.hand && "hand", isOnStage && "shown", person.presence === "away" && "away"];
      return html`<button class="tile ${look.filter(Boolean).join(" ")}" data-p=${p} data-name=${name}
        title=${stuckText(person) || (p in catchingUp.value ? behindText(p) : "")}
        @click=${() => (opened.value = p)}>
        <span class="row"><b><bdi>${name}</bdi></b><span class="flags">${person.hand ? html`<span role="img"
          aria-label=${t("board.hand")}>☝</span>` : ""}${isOnStage
          ? html`<small>${t("board.on_stage")}</small>` : ""}</span></span>
        ${picture(tiles.value[p])}
        ${stepRow(person, info?.steps ?? 0)}
        <span class="row foot"><span>${isDone ? "" : person.stuck ? t("board.min_on_step", { n: minutes(person.stuck_us ?? now_us.value) })
          : t("board.step", { n: person.step })}</span><span>${this.#place(p, person)}</span></span>
      </button>`;
    };
    return html`<div class="tiles">${repeat(people, ([p]) => p, tile)}</div>`;
  }
}
customElements.define("hw-wall", HwWall);
