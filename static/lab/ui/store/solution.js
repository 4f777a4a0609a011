// Shows how a step is done: plays its lines of solution.lab (see lab/exercises/solution.py) in this lab, slowly.
import { withController } from "../../core/view/placeholders.js";
import { request, here, refuse } from "./api.js";
import { runLine } from "./console.js";
import { goTo } from "./disk.js";
import { steer } from "./interactions.js";
import { openedSteps, send } from "./lesson.js";
import { effect, moment, player, shown, signal } from "./state.js";
import { setRate, stepRpc } from "./time.js";

/** @import { Signal } from "@preact/signals-core" */
/**
 * The lines that do a step, and the most that one takes: messages of a `step rpc until`, simulated time of a `play`.
 * @typedef {{ step: string, lines: string[], max_steps: number, play_us: number }} Solution
 */

const LINE_MS = 900;
const STEP_MS = 350;
const LOOK_MS = 100;
/** About how many seconds a stretch of simulated time is played in. */
const STRETCH_S = 4;
/** If the step has not ended after this time, simulated time runs faster. */
const FASTER_MS = 2500;
const FASTER = 4;
const FASTEST = 20;
const MEASURE_MS = 10_000;

/** The line that is played; null while nothing is. @type {Signal<string | null>} */
export const playedLine = signal(null);
let stopped = false;

/** @param {number} ms @returns {Promise<void>} */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** @param {string} id */
const isActive = (id) => !stopped && openedSteps().find((step) => step.id === id)?.state === "active";
const isPlaying = () => player.mode !== "pause";

/** Messages in flight like "Produce.request", the oldest first. @param {string} message */
const inFlight = (message) => Object.entries(moment.value.view.rpcs)
  .filter(([, { api, kind }]) => `${api}.${kind}` === message)
  .map(([name]) => name).sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));

/** A line with the broker that is the controller, and the names of messages, in their places. @param {string} line */
const resolved = (line) => withController(line, moment.value.view)
  .replace(/@([A-Z][A-Za-z]+\.(?:request|response))/g, (whole, message) => inFlight(message)[0] ?? whole);

/**
 * Lets time run until the step is done, or for so long.
 * @param {string} step
 * @param {number | null} us null: for `max_us`
 * @param {number} max_us
 */
async function playUntilDone(step, us, max_us) {
  const end_us = player.live_at_us + (us ?? max_us);
  const rate = us === null ? player.rate : Math.max(player.rate, us / 1e6 / STRETCH_S);
  if (rate !== player.rate) await setRate(Math.min(FASTEST, rate));
  let since = performance.now();
  while (isActive(step) && player.live_at_us < end_us) {
    // A freeze of the step pauses the run.
    if (!isPlaying()) await player.play();
    await wait(LOOK_MS);
    if (us !== null || performance.now() - since < FASTER_MS || player.rate >= FASTEST) continue;
    since = performance.now();
    await setRate(Math.min(FASTEST, player.rate * FASTER));
  }
}

/** @param {string} step @param {() => boolean} isReached @param {number} max_steps */
async function stepUntil(step, isReached, max_steps) {
  for (let steps = 0; steps < max_steps && isActive(step) && !isReached(); steps++) {
    if (!await stepRpc()) stopSolution();
    await wait(STEP_MS);
  }
}

/** Measures on the page what the step asks for, as its learner would. */
async function measure() {
  const broker = Object.keys(moment.value.view.nodes).find((name) => /^b\d+$/.test(name)) ?? "";
  shown.value = "disk";
  goTo({ broker, mode: "copy", path: "" });
  for (let waited = 0; waited < MEASURE_MS; waited += LOOK_MS) {
    await wait(LOOK_MS);
    const button = /** @type {HTMLButtonElement | null} */ (document.querySelector("hw-disk-copy .btn.pri"));
    if (!button || button.disabled) continue;
    button.click();
    return;
  }
}

/** The step in progress and the last command before it; null where it began before this page was opened. */
let began = { step: "", command: /** @type {number | null} */ (null) };
effect(() => {
  const step = openedSteps().find(({ state }) => state === "active")?.id ?? "";
  if (step === began.step) return;
  const commands = Object.keys(moment.peek().view.console).map(Number);
  began = { step, command: began.step ? Math.max(0, ...commands) : null };
});

/** The lines that the learner has run since the step began: they are not run again. */
function linesRun() {
  const since_us = openedSteps().findLast(({ checked }) => checked)?.checked?.at_us ?? 0;
  const { command: last } = began;
  return Object.entries(moment.peek().view.console)
    .filter(([command, { at_us, exit_code }]) => !exit_code && (last === null ? at_us >= since_us : Number(command) > last))
    .map(([, { line }]) => line);
}

/** @param {Solution} solution @param {string} line */
async function playLine({ step, max_steps, play_us }, line) {
  const [verb, object, ...rest] = line.split(/\s+/);
  if (verb === "pause") await player.pause();
  else if (verb === "play") await playUntilDone(step, object ? Number.parseFloat(object) * 1e6 : null, play_us);
  else if (verb === "predict" || verb === "answer") {
    if (!openedSteps().find(({ id }) => id === step)?.given?.outcome) await send("skip", { step });
  } else if (verb === "fact") await measure();
  else if (verb === "step" && object === "rpc" && !rest.length) stopped ||= !await stepRpc();
  else if (verb === "step" && object === "rpc") {
    await stepUntil(step, () => rest[1] !== "done" && inFlight(rest[1]).length > 0, max_steps);
  }
  else if (await runLine(resolved(line)) === null) stopSolution();
}

/** Plays the solution of the step in progress. What it asks is answered without counting as an answer of the learner. */
export async function showSolution() {
  if (playedLine.peek() !== null || !steer("live")) return;
  playedLine.value = "";
  stopped = false;
  const wasPlaying = isPlaying();
  try {
    if (player.isPast) player.goLive();
    /** @type {Solution} */
    const solution = await (await request(`${here.api}/solution`)).json();
    const { rate } = player;
    const run = linesRun();
    for (const line of solution.lines) {
      if (!isActive(solution.step)) break;
      if (run.includes(line)) {
        run.splice(run.indexOf(line), 1);
        continue;
      }
      playedLine.value = line;
      await playLine(solution, line);
      await wait(LINE_MS);
    }
    if (!wasPlaying && isPlaying()) await player.pause();
    if (player.rate !== rate) await setRate(rate);
  } catch (error) {
    refuse(error);
  }
  playedLine.value = null;
}

/** Ends it after the line that is played now. */
export const stopSolution = () => void (stopped = true);
