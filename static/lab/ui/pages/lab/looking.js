// For staff on the page of a lab of their class: whose lab they look at, and the ways back to the board.
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { lookedAt } from "../../classroom/looked_at.js";
import { act, classSlug, joined, shownName, tree } from "../../classroom/store.js";

const STAFF = ["instructor", "co-instructor"];

class HwLooking extends HwElement {
  render() {
    const { people = {}, mine } = tree.value;
    if (!STAFF.includes(mine?.role ?? "")) return "";
    const board = `/classes/${classSlug.value}/board/`;
    const me = joined()?.you?.p ?? "";
    const lab = lookedAt()?.lab;
    const [p, person] = Object.entries(people).find(([, one]) => one.lab === lab && one.looked_by?.includes(me)) ?? [];
    return html`${p && person ? html`<span class="tag select">${t("board.lab_of", { name: shownName(p, person.name) })}</span>
      <button class="chip" @click=${async () => {
        if (await act({ op: "end_look", p })) location.assign(board);
      }}>${t("board.end_look")}</button>` : ""}<a class="chip" href=${board}>${t("board.board")}</a>`;
  }
}
customElements.define("hw-looking", HwLooking);
