// Where the states and transitions of a state machine are: from its table alone, by how far each state is from the first.

/** A state machine as the server sends it: the states in the order of the code, and from which states each may be
 * entered.
 * @typedef {{ states: string[], previous: Record<string, string[]> }} Chart
 * @typedef {{ state: string, x: number, y: number, w: number, h: number }} StatePlace
 * @typedef {{ from: string, to: string, d: string, head: string }} Transition `head`: the arrow's three points
 * @typedef {{ width: number, height: number, states: StatePlace[], transitions: Transition[] }} ChartLayout
 */

export const STATE_W = 122;
export const STATE_H = 38;
const GAP_X = 34;
const GAP_Y = 32;
const MARGIN = 12;
/** Two arrows between the same states, one each way, run side by side. */
const APART = 7;
const HEAD = 5;

/** The columns of a chart: how many transitions each state is away from the first. @param {Chart} chart @returns {string[][]} */
export function columnsOf({ states, previous }) {
  const column = new Map([[states[0], 0]]);
  let frontier = [states[0]];
  while (frontier.length) {
    const next = states.filter((state) => !column.has(state) && previous[state].some((from) => frontier.includes(from)));
    for (const state of next) column.set(state, (column.get(frontier[0]) ?? 0) + 1);
    frontier = next;
  }
  /** @type {string[][]} */
  const columns = [];
  for (const state of states) (columns[column.get(state) ?? 0] ??= []).push(state);
  return columns;
}

/** @param {Chart} chart @returns {ChartLayout} */
export function layoutChart(chart) {
  const columns = columnsOf(chart);
  const tallest = Math.max(...columns.map((column) => column.length));
  const inner = tallest * STATE_H + (tallest - 1) * GAP_Y;
  /** @type {Map<string, StatePlace & { column: number }>} */
  const places = new Map();
  const top = MARGIN + 8;
  columns.forEach((column, c) => {
    const own = column.length * STATE_H + (column.length - 1) * GAP_Y;
    column.forEach((state, row) => places.set(state, {
      state, column: c, x: MARGIN + c * (STATE_W + GAP_X), y: top + (inner - own) / 2 + row * (STATE_H + GAP_Y), w: STATE_W, h: STATE_H,
    }));
  });
  const edges = chart.states.flatMap((to) => chart.previous[to].map((from) => ({ from, to })));
  const back = edges.filter(({ from, to }) => column(places, to) < column(places, from) && !isNeighbour(places, from, to));
  const bottom = top + inner;
  const transitions = edges.map(({ from, to }) => {
    const [a, b] = [/** @type {StatePlace} */ (places.get(from)), /** @type {StatePlace} */ (places.get(to))];
    const paired = chart.previous[from].includes(to);
    const lane = back.findIndex((edge) => edge.from === from && edge.to === to);
    return { from, to, ...(from === to ? loop(a, columns.some((one) => one.indexOf(to) > 0)) : lane >= 0
      ? around(a, b, bottom + 14 + lane * 10) : straight(a, b, paired)) };
  });
  const width = 2 * MARGIN + columns.length * STATE_W + (columns.length - 1) * GAP_X;
  const height = bottom + (back.length ? 14 + (back.length - 1) * 10 : 0) + MARGIN;
  return { width, height, states: [...places.values()].map(({ state, x, y, w, h }) => ({ state, x, y, w, h })), transitions };
}

/** @param {Map<string, { column: number }>} places @param {string} state */
function column(places, state) {
  return places.get(state)?.column ?? 0;
}

/** @param {Map<string, { column: number }>} places @param {string} a @param {string} b */
function isNeighbour(places, a, b) {
  return Math.abs(column(places, a) - column(places, b)) <= 1;
}

/** A self-transition: a loop above; below if there is a state above. @param {StatePlace} place @param {boolean} below */
function loop({ x, y, w, h }, below) {
  if (below) return { d: `M${x + w - 34} ${y + h}c0 16 22 16 22 3`, head: arrow(x + w - 12, y + h, 0, -1) };
  const left = x + w / 2 - 12;
  return { d: `M${left} ${y}c0 -16 24 -16 24 -3`, head: arrow(left + 24, y, 0, 1) };
}

/** Back over several columns: below all states. @param {StatePlace} a @param {StatePlace} b @param {number} y */
function around(a, b, y) {
  const from = a.x + a.w / 2;
  const to = b.x + b.w / 2 + 10;
  const end = b.y + b.h;
  return { d: `M${from} ${a.y + a.h}V${y - 6}Q${from} ${y} ${from - 6} ${y}H${to + 6}Q${to} ${y} ${to} ${y - 6}V${end + HEAD}`,
    head: arrow(to, end, 0, -1) };
}

/** From side to side, or from top to bottom within a column. @param {StatePlace} a @param {StatePlace} b @param {boolean} paired */
function straight(a, b, paired) {
  const shift = paired ? APART : 0;
  if (a.x === b.x) {
    const down = b.y > a.y;
    const x = a.x + a.w / 2 + (down ? shift : -shift);
    const [from, to] = down ? [a.y + a.h, b.y] : [a.y, b.y + b.h];
    return { d: `M${x} ${from}V${to - (down ? HEAD : -HEAD)}`, head: arrow(x, to, 0, down ? 1 : -1) };
  }
  const right = b.x > a.x;
  const [x1, x2] = right ? [a.x + a.w, b.x] : [a.x, b.x + b.w];
  const move = a.y === b.y ? (right ? -shift : shift) : (right ? -1 : 1) * (paired ? APART : 0);
  const [y1, y2] = [a.y + a.h / 2 + move, b.y + b.h / 2 + move];
  const end = x2 - (right ? HEAD : -HEAD);
  const bend = (end - x1) / 2;
  return { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${end - bend} ${y2} ${end} ${y2}`, head: arrow(x2, y2, right ? 1 : -1, 0) };
}

/** @param {number} x @param {number} y the point @param {number} dx @param {number} dy where it points */
function arrow(x, y, dx, dy) {
  const back = [x - dx * HEAD, y - dy * HEAD];
  const half = HEAD * 0.62;
  return `${x},${y} ${back[0] + dy * half},${back[1] + dx * half} ${back[0] - dy * half},${back[1] - dx * half}`;
}
