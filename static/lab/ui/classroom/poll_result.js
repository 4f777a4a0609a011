// What came of a poll: the split of a round, with how sure voters were and the round before in outline, and the outcome.
import { html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { answerText } from "./store.js";

/** @import { Poll } from "../../core/classroom/class.d.ts" */

/** The answers of a poll that are known, in a fixed order. @param {Poll} poll */
export function answersOf(poll) {
  const given = (poll.splits ?? []).flatMap((split) => Object.keys(split.answers));
  const all = poll.choices.length ? poll.choices.map((_, index) => String(index)) : given;
  return [...new Set(all)];
}

/** @param {Poll} poll */
export function splitOf(poll) {
  const splits = poll.splits ?? [];
  const newest = splits.at(-1);
  if (!newest) return "";
  if (newest.count && !Object.keys(newest.answers).length) return html`<p class="dim">${t("board.poll.too_few", { n: newest.count })}</p>`;
  const former = splits.at(-2);
  const right = poll.outcome || poll.right;
  return html`<ul class="split">${answersOf(poll).map((answer, index) => {
    const votes = newest.answers[answer] ?? 0;
    const percent = newest.count ? Math.round((100 * votes) / newest.count) : 0;
    const before = former?.count ? Math.round((100 * (former.answers[answer] ?? 0)) / former.count) : -1;
    const sure = newest.sure[answer] ?? -1;
    return html`<li class="answer ${answer === right ? "right" : ""}"><span><bdi>${answerText(poll, answer)}</bdi>${answer === right ? " ✓"
      : ""}</span>
      <span class="bar hue${index % 6}"><progress max="100" value=${percent} aria-label=${answerText(poll, answer)}></progress>${before >= 0
        ? html`<progress class="before" max="100" value=${before} aria-label=${t("board.poll.before")}></progress>` : ""}</span>
      <span class="mono">${percent}%</span>
      ${poll.asks_sure && sure >= 0 ? html`<small class="sure">${t("board.poll.sure", { n: sure })}</small>` : ""}</li>`;
  })}</ul>`;
}

/** The outcome, and its source: the lab that was settling it, or staff. It is no live region: heard.js says it. @param {Poll} poll */
export function outcomeOf(poll) {
  if (poll.settling) return html`<p class="tag select">${t("board.poll.settling")}</p>`;
  if (!poll.outcome) return "";
  const answer = answerText(poll, poll.outcome);
  return html`<p class="tag ok">${poll.by === "lab" ? t("board.poll.by_lab", { answer, seq: poll.seq ?? 0 })
    : t("board.poll.came_true", { answer })}</p>`;
}
