// For staff on the page of a lab of their class: whose lab they look at, and the ways back to the board.
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { ownLab } from "../../classroom/looked_at.js";
import { act, classSlug, shownName } from "../../classroom/store.js";
import { isStaff, lookedInto } from "./allowed.js";

class HwLooking extends HwElement {
  render() {
    if (!isStaff()) return "";
    const board = `/classes/${classSlug.value}/board/`;
    const [p, person] = lookedInto() ?? [];
    const whose = p && person ? t("board.lab_of", { name: shownName(p, person.name) }) : "";
    return html`${p && person?.lab ? html`<span class="tag select" title=${whose}><bdi>${whose}</bdi></span>
      ${person.lab === ownLab ? "" : html`<a class="chip" href=${`/r/${person.lab}`}>${t("board.to_branch",
        { branch: person.lab.split("/")[1] })}</a>`}
      <button class="chip" @click=${async () => {
        if (await act({ op: "end_look", p })) location.assign(board);
      }}>${t("board.end_look")}</button>` : ""}<a class="chip to-board" href=${board}>${t("board.board")}</a>`;
  }
}
customElements.define("hw-looking", HwLooking);
