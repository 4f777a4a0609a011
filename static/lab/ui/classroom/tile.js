// A learner's lab in a small picture: the replicas of one partition, where they end, and what was cut off.
import { html, svg } from "../kit/element.js";
import { t } from "../kit/i18n.js";

/** @import { Person, Tile, TileReplica } from "../../core/classroom/class.d.ts" */

const SLOTS = 9;
const PITCH = 15.5;
const LANE_H = 16;
const WIDTH = SLOTS * PITCH;
const BEHIND = 5;
/** Signs of steps, by what became of them. */
export const SIGNS = { done: "✓", hinted: "h", skipped: "–", lost: "↺", active: "·", stuck: "!", none: "" };

/** How a replica is drawn, by its role. */
const LOOKS = { l: "leader", i: "isr", o: "out", x: "offline" };

/** The first offset that is shown: some before the high watermark of the replica that is furthest. @param {TileReplica[]} replicas */
function firstShown(replicas) {
  const highWatermark = Math.max(0, ...replicas.map(([, , , , hw]) => hw));
  const start = Math.min(...replicas.map(([, , first]) => first));
  return Math.max(start, highWatermark - BEHIND);
}

/** @param {TileReplica} replica @param {number} row @param {number} from */
function lane([, role, first, leo, hw, cut], row, from) {
  const y = 2 + row * LANE_H;
  const cells = [];
  for (let slot = 0; slot < SLOTS; slot++) {
    const offset = from + slot;
    const x = slot * PITCH;
    if (offset >= first && offset < leo) {
      cells.push(svg`<rect class="cell ${LOOKS[role]} ${offset < hw ? "committed"
        : "open"}" x=${x} y=${y} width="13" height="12" rx="2"></rect>`);
    } else if (offset === cut) {
      cells.push(svg`<g class="cut"><rect x=${x} y=${y} width="13" height="12" rx="2"></rect><path
        d="M${x + 1.5} ${y + 11}l10 -10"></path></g>`);
    } else {
      cells.push(svg`<circle class="slot" cx=${x + 6.5} cy=${y + 6} r=".8"></circle>`);
    }
  }
  return cells;
}

/** @param {Tile | undefined} tile */
export function picture(tile) {
  const replicas = tile?.[4] ?? [];
  if (!replicas.length) return html`<p class="no-picture">${t(tile ? "board.tile.empty" : "board.tile.none")}</p>`;
  const from = firstShown(replicas);
  const height = replicas.length * LANE_H + 2;
  const hw = Math.max(0, ...replicas.filter(([, role]) => role === "l").map((replica) => replica[4]));
  const x = Math.min(Math.max(0, hw - from), SLOTS) * PITCH - 1;
  return html`<svg class="tile-picture" viewBox="0 0 ${WIDTH} ${height}" aria-hidden="true" preserveAspectRatio="xMinYMid meet">
    ${replicas.map((replica, row) => lane(replica, row, from))}
    <path class="hw" d="M${Math.max(0.7, x)} 0V${height}"></path></svg>`;
}

/** A step of a learner: its class and sign. @param {Person} person @param {number} step */
export function stepSign(person, step) {
  const sign = person.signs?.[step];
  if (sign) return { look: sign, sign: SIGNS[sign] };
  if (step !== person.step) return { look: "none", sign: SIGNS.none };
  return person.stuck && person.stuck !== "asks" ? { look: "stuck", sign: SIGNS.stuck } : { look: "active", sign: SIGNS.active };
}

/** All steps of a learner as a row of signs. @param {Person} person @param {number} steps */
export const stepRow = (person, steps) => html`<span class="steps" aria-hidden="true">${Array.from({ length: steps }, (_, index) => {
  const { look, sign } = stepSign(person, index + 1);
  return html`<i class=${look}>${sign}</i>`;
})}</span>`;
