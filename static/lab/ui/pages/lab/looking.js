// For staff on the page of a lab of their class: whose lab they look at, and the ways back to the board.
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { lookedAt } from "../../classroom/looked_at.js";
import { act, classSlug, joined, shownName, tree } from "../../classroom/store.js";

const STAFF = ["instructor", "co-instructor"];

/** The run of a lab. @param {string} [lab] */
const runOf = (lab) => lab?.split("/")[0];

class HwLooking extends HwElement {
  render() {
    const { people = {}, mine } = tree.value;
    if (!STAFF.includes(mine?.role ?? "")) return "";
    const board = `/classes/${classSlug.value}/board/`;
    const me = joined()?.you?.p ?? "";
    const lab = lookedAt()?.lab ?? "";
    // Staff may see the whole run, and the learner may be on another branch of it by now.
    const [p, person] = Object.entries(people).find(([, one]) => runOf(one.lab) === runOf(lab) && one.looked_by?.includes(me)) ?? [];
    const whose = p && person ? t("board.lab_of", { name: shownName(p, person.name) }) : "";
    return html`${p && person?.lab ? html`<span class="tag select" title=${whose}><bdi>${whose}</bdi></span>
      ${person.lab === lab ? "" : html`<a class="chip" href=${`/r/${person.lab}`}>${t("board.to_branch",
        { branch: person.lab.split("/")[1] })}</a>`}
      <button class="chip" @click=${async () => {
        if (await act({ op: "end_look", p })) location.assign(board);
      }}>${t("board.end_look")}</button>` : ""}<a class="chip to-board" href=${board}>${t("board.board")}</a>`;
  }
}
customElements.define("hw-looking", HwLooking);
