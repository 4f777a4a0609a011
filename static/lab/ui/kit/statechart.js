// A state machine as a chart, drawn from the transition table that the controller or the group coordinator uses.
import { STATE_W, layoutChart } from "../../core/layout/statechart.js";
import { html, svg } from "./element.js";
import { has, t } from "./i18n.js";

/** @import { Chart, ChartLayout, StatePlace, Transition } from "../../core/layout/statechart.js" */

/** The tables of the state machines by name, as sent by lab/api/state_charts.py. @type {Record<string, Chart>} */
export const CHARTS = JSON.parse(document.getElementById("state-charts")?.textContent ?? "{}");
/** @type {Map<string, ChartLayout>} */
const layouts = new Map();

/** @param {string} name */
const layoutOf = (name) => {
  const layout = layouts.get(name) ?? layoutChart(CHARTS[name]);
  layouts.set(name, layout);
  return layout;
};

/**
 * "OnlinePartition" -> ["Online", "Partition", false], so "PreparingRebalance"; "ReplicaDeletionStarted" -> ["ReplicaDeletion",
 * "Started", true]: two lines, the second is the telling one.
 * @param {string} state
 * @returns {[string, string, boolean]}
 */
function nameLines(state) {
  const deletion = /^(ReplicaDeletion)(.+)$/.exec(state);
  if (deletion) return [deletion[1], deletion[2], true];
  const [, name, suffix] = /^(.+?)(Partition|Replica|Rebalance)$/.exec(state) ?? [state, state, ""];
  return [name, suffix, false];
}

/** What a state of a machine means; the names of some are used by several machines. @param {string} name @param {string} state */
export const meaning = (name, state) => t(has(`state.${name}.${state}`) ? `state.${name}.${state}` : `state.${state}`);

/** How many are in a state, at its corner. @param {number} x @param {string} words */
function count(x, words) {
  const half = Math.max(8.5, 3.3 * words.length + 3.5);
  return svg`<g class="count" transform="translate(${x},-1)"><rect x=${-half} y="-8.5" width=${2 * half} height="17" rx="8.5"></rect>
    <text y="3.2">${words}</text></g>`;
}

/**
 * @param {string} name partition, replica, group or transaction
 * @param {{ active: string, from?: string, counts: Record<string, number>, label: string }} shown `from`: where the last step came from
 */
export function stateChart(name, { active, from = "", counts, label }) {
  const { width, height, states, transitions } = layoutOf(name);
  /** @param {Transition} edge */
  const isLast = (edge) => from && edge.from === from && edge.to === active;
  /** @param {Transition} edge */
  const transition = (edge) => svg`<g class="transition ${isLast(edge) ? "now" : ""}"><path d=${edge.d}></path>
    <polygon points=${edge.head}></polygon></g>`;
  /** @param {StatePlace} place */
  const state = ({ state: one, x, y, w, h }) => {
    const [first, second, isSecondBold] = nameLines(one);
    return svg`<g class="state ${one === active ? "active" : ""} ${counts[one] ? "some" : ""}" transform="translate(${x},${y})">
      <title>${one}: ${meaning(name, one)}</title>
      <rect width=${w} height=${h} rx="7"></rect>
      <text class=${isSecondBold ? "rest" : "name"} x=${STATE_W / 2} y=${second ? 16 : h / 2 + 4}>${first}</text>
      <text class=${isSecondBold ? "name" : "rest"} x=${STATE_W / 2} y="29">${second}</text>
      ${counts[one] ? count(w - 4, String(counts[one])) : ""}</g>`;
  };
  // The latest transition is on top.
  const edges = [...transitions].sort((a, b) => Number(Boolean(isLast(a))) - Number(Boolean(isLast(b))));
  return html`<svg class="statechart" role="img" aria-label=${label} viewBox="0 0 ${width} ${height}" width=${width} height=${height}>
    ${edges.map(transition)}${states.map(state)}</svg>`;
}
