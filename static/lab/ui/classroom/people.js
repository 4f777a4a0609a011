// Participants of the class: roles, presence, people waiting at the door.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { act, opened, shownName, sorted, tree, waiting } from "./store.js";

class HwPeople extends HwElement {
  render() {
    const people = Object.entries(tree.value.people ?? {}).filter(([, person]) => !person.waits && person.presence !== "left");
    const atDoor = waiting();
    return html`${atDoor.length ? html`<section class="at-door" aria-labelledby="at-door"><h2 class="block-title"
      id="at-door">${t("board.at_door",
      { n: atDoor.length })}
        <button class="btn small pri" @click=${() => act({ op: "admit" })}>${t("board.admit_all")}</button></h2>
        <ul>${atDoor.map(([p, person]) => html`<li><bdi>${shownName(p, person.name)}</bdi>
          <button class="btn small" @click=${() => act({ op: "admit", p })}>${t("board.admit")}</button></li>`)}</ul></section>` : ""}
      <div class="heat-frame"><table class="heat people"><caption class="sr">${t("board.people")}</caption>
        <thead><tr><th scope="col">${t("board.name")}</th><th scope="col">${t("board.number")}</th><th
          scope="col">${t("board.role_title")}</th>
          <th scope="col">${t("board.state")}</th><th scope="col">${t("board.lab_title")}</th></tr></thead>
        <tbody>${sorted(people, "name").map(([p, person]) => html`<tr>
          <th scope="row"><button class="link-button" @click=${() => (opened.value = p)}><bdi>${shownName(p,
            person.name)}</bdi></button></th>
          <td class="mono">${p}</td><td>${t(`board.role.${person.role}`)}</td><td>${t(`board.presence.${person.presence}`)}</td>
          <td class="mono">${person.lab || "—"}</td></tr>`)}</tbody></table></div>`;
  }
}
customElements.define("hw-people", HwPeople);
