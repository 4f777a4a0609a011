// Participants of the class: roles, presence, people waiting at the door.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { act, minutes, opened, presenceText, shownName, sorted, tree, waiting } from "./store.js";

/** @import { Person } from "../../core/classroom/class.d.ts" */

class HwPeople extends HwElement {
  /** A person who waits at the door, and whom they claim to be, for staff to decide. @param {string} p @param {Person} person */
  #waiting(p, person) {
    const claimed = person.claims ? tree.value.people?.[person.claims] : undefined;
    const name = html`<bdi>${shownName(p, person.name)}</bdi>`;
    if (!person.claims || !claimed) return html`<li>${name}
      <button class="btn small" @click=${() => act({ op: "admit", p })}>${t("board.admit")}</button></li>`;
    const shown = shownName(person.claims, claimed.name);
    const seen = claimed.presence === "here" ? t("board.claimed_here") : t("board.claimed_seen", { n: minutes(claimed.since_us) });
    return html`<li>${name}
      <span class="dim">${t("board.claims", { name: shown, number: person.claims })} ${seen}${claimed.lab ? html` · <span
        class="mono">${claimed.lab}</span>` : ""}</span>
      <button class="btn small pri" @click=${() => act({ op: "accept_claim", p })}>${t("door.is_them", { name: shown })}</button>
      <button class="btn small" @click=${() => act({ op: "admit", p })}>${t("door.as_new")}</button>
      <button class="btn small danger" @click=${() => act({ op: "kick", p })}>${t("door.turn_away")}</button></li>`;
  }

  render() {
    const people = Object.entries(tree.value.people ?? {}).filter(([, person]) => !person.waits && person.presence !== "left");
    const atDoor = waiting();
    return html`${atDoor.length ? html`<section class="at-door" aria-labelledby="at-door"><h2 class="block-title"
      id="at-door">${t("board.at_door",
      { n: atDoor.length })}
        <button class="btn small pri" @click=${() => act({ op: "admit" })}>${t("board.admit_all")}</button></h2>
        <ul>${atDoor.map(([p, person]) => this.#waiting(p, person))}</ul></section>` : ""}
      <div class="heat-frame"><table class="heat people"><caption class="sr">${t("board.people")}</caption>
        <thead><tr><th scope="col">${t("board.name")}</th><th scope="col">${t("board.number")}</th><th
          scope="col">${t("board.role_title")}</th>
          <th scope="col">${t("board.state")}</th><th scope="col">${t("board.lab_title")}</th></tr></thead>
        <tbody>${sorted(people, "name").map(([p, person]) => html`<tr>
          <th scope="row"><button class="link-button" @click=${() => (opened.value = p)}><bdi>${shownName(p,
            person.name)}</bdi></button></th>
          <td class="mono">${p}</td><td class="word">${t(`board.role.${person.role}`)}</td><td
            class="word">${presenceText(p, person)}</td>
          <td class="mono">${person.lab || "—"}</td></tr>`)}</tbody></table></div>`;
  }
}
customElements.define("hw-people", HwPeople);
