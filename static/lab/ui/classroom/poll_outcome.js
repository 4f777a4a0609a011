// The outcome of a poll, and its source: the lab that was settling it, or staff. It is no live region: heard.js says it.
import { html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { answerText } from "./store.js";

/** @import { Poll } from "../../core/classroom/class.d.ts" */

/** @param {Poll} poll */
export function outcomeOf(poll) {
  if (poll.settling) return html`<p class="tag select">${t("board.poll.settling")}</p>`;
  if (!poll.outcome) return "";
  const answer = answerText(poll, poll.outcome);
  return html`<p class="tag ok">${poll.by === "lab" ? t("board.poll.by_lab", { answer, seq: poll.seq ?? 0 })
    : t("board.poll.came_true", { answer })}</p>`;
}
