// Says, whatever the page of a lab shows, that others see this lab: it leads, is on stage or is looked at.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { runOf } from "./followed.js";
import { ownLab } from "./looked_at.js";
import { act, followers, joined, tree } from "./store.js";

class HwShownMark extends HwElement {
  render() {
    const { mine, staff = {}, class: info } = tree.value;
    if (!mine || info?.ended) return "";
    if (mine.on_stage) return html`<span class="row"><span class="tag select">● ${t("board.mine.on_stage")}</span><button class="chip"
      @click=${() => act({ op: "clear_stage" })}>${t("board.mine.leave_stage")}</button></span>`;
    const { lead } = tree.value;
    if (lead && lead.p === joined()?.you?.p && runOf(lead.lab) === runOf(ownLab)) return html`<span class="tag select">● ${
      t("board.you_lead", { n: followers().length })}</span>`;
    const by = mine.looked_by[0];
    const text = by ? t("board.mine.looked_by", { name: staff[by]?.name || t("board.role.instructor") }) : "";
    return text ? html`<span class="tag select" title=${text}>◉ <bdi>${text}</bdi></span>` : "";
  }
}
customElements.define("hw-shown-mark", HwShownMark);
