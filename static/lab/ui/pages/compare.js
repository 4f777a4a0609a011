// Two branches side by side: two players on two recordings, one playhead, and rings around differences.
import { effect, signal } from "@preact/signals-core";
import { sortedAlarms } from "../../core/view/alarms.js";
import { commonCommands, differences, otherInstant } from "../../core/view/compare.js";
import { Player } from "../../core/player/player.js";
import { topicNames } from "../../core/view/selectors.js";
import { durationText, rateText } from "../../core/player/timemap.js";
import { onNewColours, readPalette } from "../../draw/palette.js";
import { Frames } from "../../draw/raf.js";
import { Rings } from "../../draw/rings.js";
import { History } from "../../core/recording/history.js";
import { Strips } from "../../draw/strips.js";
import { Topology } from "../../draw/topology.js";
import { HwElement, byId, html, live, svg } from "../kit/element.js";
import { closest, onValue } from "../kit/events.js";
import { instant } from "../kit/format.js";
import { has, t, texts } from "../kit/i18n.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Command, Contents, Difference, Differences } from "../../core/view/compare.js" */

/** @typedef {{ seq: number, all: Contents }} SideContents */

const SIDES = ["a", "b"];
const RATES = [0.0025, 0.01, 0.1, 0.5, 1, 5];
/** The contents of records are requested when the picture has not changed for this time. */
const CONTENTS_AFTER_MS = 250;
const MAX_ROWS = 200;

const main = byId("main");
const query = new URLSearchParams(location.search);
const addresses = SIDES.map((side) => main.dataset[side] ?? "");
/** The address of each side's history; for a lab of a recorded class it is in the recording. */
const histories = SIDES.map((side, at) => main.dataset[`${side}Api`] || `/api/runs/${addresses[at]}/`);
const places = SIDES.map((side, at) => main.dataset[`${side}Href`] || `/r/${addresses[at]}`);
/** The instant up to which two branches of one run are identical; null for branches of two runs. */
const forked_us = main.dataset.forkedUs ? Number(main.dataset.forkedUs) : null;

/** A version of what both sides show, incremented with each change of one of them. */
const version = signal(0);
/** The lines that were sent to each side. @type {Signal<[Command[], Command[]]>} */
const commands = signal([[], []]);
/** The contents of the records, for the event that each side shows. @type {Signal<(SideContents | null)[]>} */
const contents = signal([null, null]);
const topic = signal(query.get("topic") ?? "");
const mode = signal("pause");
const rate = signal(0.5);

/** Choices made elsewhere are shown at once. */
document.querySelector("form.compare-pick")?.addEventListener("change", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.currentTarget);
  const chosen = new FormData(form);
  if (chosen.get("a") && chosen.get("b")) form.submit();
});

/** @type {Player[]} */
let players = [];
/** The side whose instant or event is in the address; -1: the longer one. */
const named = SIDES.indexOf(query.get("of") ?? "");
/** The side that determines the playhead's time. */
let ahead = 0;
/** Corresponding instants of the leading side and of the other. @type {[number, number][]} */
let pairs = [];
/** @type {Signal<Differences | null>} */
const found = signal(null);

/** @param {Player} player @param {number} at_us */
const within = (player, at_us) => Math.min(Math.max(0, at_us), player.live_at_us);

/** The instant of the following side. */
const follow = () => {
  const other = players[1 - ahead];
  const at_us = within(other, otherInstant(pairs, players[ahead].at_us));
  if (Math.abs(other.goal_us - at_us) >= 1) other.seekTime(at_us);
};

/** @param {number} at_us */
function seek(at_us) {
  players[ahead].seekTime(within(players[ahead], Math.round(at_us)));
}

/** Seeks to the instant before a command that both sides or only the leading side have. @param {1 | -1} direction */
function toCommand(direction) {
  const all = commands.value[ahead].map(({ at_us }) => at_us);
  const now = players[ahead].goal_us;
  const next = direction > 0 ? all.find((at_us) => at_us > now + 1) : all.findLast((at_us) => at_us < now - 1);
  pause();
  seek(next ?? (direction > 0 ? players[ahead].live_at_us : 0));
}

function pause() {
  players[ahead].pause();
}

function togglePlay() {
  const player = players[ahead];
  if (player.mode === "play") return player.pause();
  if (player.goal_us >= player.live_at_us - 2) seek(0);
  player.setRate(rate.value);
  return player.play();
}

/** @param {number} value */
function setRate(value) {
  rate.value = value;
  players[ahead].setRate(value);
}

/** Updates the address to match what is shown. */
function writeAddress() {
  const now = new URLSearchParams({ a: addresses[0], b: addresses[1], t: (players[ahead].at_us / 1e6).toFixed(6) });
  if (named >= 0) now.set("of", SIDES[named]);
  if (topic.value) now.set("topic", topic.value);
  history.replaceState(null, "", `/compare/?${now.toString().replaceAll("%2F", "/")}`);
}

/** @param {number} side @param {string} what @returns {Promise<unknown>} */
const ask = async (side, what) => (await fetch(histories[side] + what, { credentials: "same-origin" })).json();

/** @type {ReturnType<typeof setTimeout> | undefined} */
let asking;
/**
 * The contents of a side's records after an event.
 * @param {number} side
 * @param {number} seq
 * @returns {Promise<SideContents>}
 */
async function contentsAt(side, seq) {
  const known = contents.value[side];
  return known?.seq === seq ? known : { seq, all: /** @type {Contents} */ (await ask(side, `contents?seq=${seq}`)) };
}

/** Requests the contents of both sides when they are paused. */
function askContents() {
  clearTimeout(asking);
  asking = setTimeout(async () => {
    writeAddress();
    const seqs = players.map(({ seq }) => seq);
    contents.value = await Promise.all(seqs.map((seq, side) => contentsAt(side, seq)));
  }, CONTENTS_AFTER_MS);
}

function compareNow() {
  void version.value;
  const [a, b] = players.map(({ view }) => view);
  if (!a || !b) return null;
  const known = contents.value.map((one, side) => (one?.seq === players[side].seq ? one.all : null));
  return differences(a, b, known[0], known[1]);
}

/** A side's pictures, drawn whenever its player changes. @param {Player} player @param {number} side */
function draw(player, side) {
  /** @param {string} what */
  const hostOf = (what) => /** @type {HTMLElement} */ (document.querySelector(`[data-${what}=${SIDES[side]}]`));
  const [host, above] = [hostOf("strips"), hostOf("cluster")];
  const strips = new Strips(host, player, t, readPalette(host));
  const topology = new Topology(above, player, new History(() => player.chunks(), () => player.seq), t, texts);
  const rings = new Rings();
  strips.drawOver(rings);
  const frames = new Frames(player, [topology, strips]);
  player.subscribe((change) => {
    for (const drawing of [topology, strips]) drawing.note(change);
    frames.wake();
    version.value++;
  });
  new ResizeObserver(() => {
    strips.resize(host.clientWidth);
    topology.resize(above.clientWidth);
    frames.wake();
  }).observe(above);
  const redraw = () => {
    strips.all();
    topology.topic = strips.topic;
    topology.redraw();
    frames.wake();
  };
  onNewColours(() => {
    strips.setPalette(readPalette(host));
    frames.wake();
  });
  return { strips, rings, redraw };
}

/** Resolves when the first instant of a recording is loaded. @param {Player} player @returns {Promise<void>} */
const isReady = (player) => new Promise((resolve) => {
  const stop = player.subscribe(() => {
    if (!player.index || !player.view) return;
    queueMicrotask(() => stop());
    resolve();
  });
});

/** Determines the leading side and the corresponding instants of both sides. */
function match() {
  /** @type {[number, number][]} */
  const instants = commonCommands(...commands.value).map(([a, b]) => [a.at_us, b.at_us]);
  /** @type {[number, number][]} */
  const turned = instants.map(([a, b]) => [b, a]);
  const [a, b] = players.map(({ live_at_us }) => live_at_us);
  ahead = named >= 0 ? named : a >= otherInstant(turned, b) ? 0 : 1;
  pairs = ahead === 0 ? instants : turned;
}

async function begin() {
  players = addresses.map((address, side) => {
    const [run, branch] = address.split("/");
    return new Player({ url: location.origin, run, branch, api: location.origin + histories[side], WebSocket: null, at: 0 });
  });
  const drawings = players.map(draw);
  const [given] = await Promise.all([Promise.all(SIDES.map((_, side) => ask(side, "commands"))), ...players.map(isReady)]);
  commands.value = /** @type {[Command[], Command[]]} */ (given);
  match();
  players[ahead].subscribe(({ what }) => {
    if (what.has("time") || what.has("view")) follow();
    mode.value = players[ahead].mode;
  });
  effect(() => {
    found.value = compareNow();
    for (const { rings, redraw } of drawings) {
      rings.differences = found.value;
      redraw();
    }
  });
  effect(() => {
    const names = shownTopics();
    const shown = names.includes(topic.value) ? topic.value : (names[0] ?? null);
    for (const { strips, redraw } of drawings) {
      if (strips.topic === shown) continue;
      strips.topic = shown;
      redraw();
    }
  });
  effect(() => {
    void version.value;
    askContents();
  });
  effect(sayFacts);
  const [wanted_us, wanted_seq] = [Number(query.get("t")) * 1e6, Number(query.get("seq"))];
  if (wanted_seq > 0) players[ahead].seekSeq(wanted_seq, wanted_us);
  else seek(wanted_us > 0 ? wanted_us : players[ahead].live_at_us);
}

/** The topics of either side. */
function shownTopics() {
  void version.value;
  return [...new Set(players.flatMap(({ view }) => (view ? topicNames(view) : [])))];
}

/** The end of a side's recording if the playhead is beyond it; otherwise null. @param {number} side */
function endedAt(side) {
  const { live_at_us } = players[side];
  return side !== ahead && otherInstant(pairs, players[ahead].at_us) > live_at_us ? live_at_us : null;
}

/** A link to the lab of the side that ends earlier. @param {number} side */
const playOn = (side) => Object.assign(document.createElement("a"), { className: "tag warn", href: places[side],
  textContent: t("compare.ended", { instant: instant(players[side].live_at_us) }), title: t("compare.play_on") });

/** Next to the names: the instant and alarms of each side. */
function sayFacts() {
  void version.value;
  SIDES.forEach((side, at) => {
    const { view, at_us } = players[at];
    if (!view) return;
    const { unexplained, explained } = sortedAlarms(view);
    /** @type {[number, string, string][]} */
    const tags = [[unexplained.length, "bad", `✕ ${t("health.alarms", { n: unexplained.length })}`],
      [explained.length, "warn", `▲ ${t("health.explained", { n: explained.length })}`]];
    const host = document.querySelector(`[data-facts=${side}]`);
    host?.replaceChildren(...(endedAt(at) === null ? [] : [playOn(at)]), ...tags.filter(([n]) => n)
      .map(([, tone, text]) => Object.assign(document.createElement("span"), { className: `tag ${tone}`, textContent: text })),
      Object.assign(document.createElement("span"), { className: "mono dim", textContent: instant(at_us) }));
  });
  const all = found.value;
  byId("verdict").textContent = all?.list.length ? t("compare.differs", { n: all.list.length }) : "";
}

/** @param {string} field */
const word = (field) => (has(`compare.field.${field}`) ? t(`compare.field.${field}`) : field);
/** Codes of the view as words. @param {string} field @param {string} text */
function value(field, text) {
  if (field === "state" && has(`node.${text}`)) return t(`node.${text}`);
  if (has(`compare.${field}.${text}`)) return t(`compare.${field}.${text}`);
  return field === "link" ? text.replace(/^cut\b/, t("compare.link.cut")).replaceAll(">", "→") : text;
}

/** Above the table: notes for the reader. */
function notices() {
  const told = [];
  const late = SIDES.findIndex((_, side) => endedAt(side) !== null);
  if (late >= 0) told.push(t("compare.ended_said", { side: SIDES[late].toUpperCase(), instant: instant(players[late].live_at_us) }));
  if (forked_us !== null && players[ahead].at_us <= forked_us) told.push(t("compare.before_fork", { instant: instant(forked_us) }));
  if (forked_us === null && !pairs.length) told.push(t("compare.unrelated"));
  return told.map((text) => html`<p class="notice">${text}</p>`);
}

/** @param {string} partition @param {string} node */
const place = (partition, node) => (partition ? html`${partition}${node ? html` <span class="dim">${node}</span>` : ""}`
  : node || t("compare.cluster"));

class HwDifferences extends HwElement {
  render() {
    const all = found.value;
    if (!all) return html`<p class="dim">${t("empty.loading")}</p>`;
    if (!all.list.length) return html`${notices()}<p class="same" role="status">✓ ${t("compare.same")}</p>`;
    /** @param {Difference} difference */
    const row = ({ partition, node, field, a, b }) => html`<tr>
      <td class="word mono">${place(partition, node)}</td>
      <td class="word">${word(field)}</td><td class="mono">${value(field, a)}</td><td class="mono">${value(field, b)}</td></tr>`;
    return html`${notices()}<table><thead><tr><th class="word">${t("compare.where")}</th><th class="word">${t("compare.what")}</th>
      <th><b class="ab a">A</b></th><th><b class="ab b">B</b></th></tr></thead>
      <tbody>${all.list.slice(0, MAX_ROWS).map(row)}</tbody></table>`;
  }
}

class HwCompareTransport extends HwElement {
  render() {
    void version.value;
    const player = players[ahead];
    if (!player?.view) return html``;
    const runs = mode.value === "play";
    const { at_us, live_at_us } = player;
    /**
     * @param {keyof typeof GLYPHS} name
     * @param {string} label
     * @param {string} key
     * @param {() => void} press
     * @param {string} [className]
     */
    const button = (name, label, key, press, className = "") => html`<button class=${className} title="${label} ( ${key} )"
      aria-label=${label} @click=${press}>
      <svg class="ic" viewBox="0 0 24 24" aria-hidden="true">${GLYPHS[name]}</svg></button>`;
    /** @param {1 | -1} direction */
    const step = (direction) => () => {
      pause();
      player.stepEvent(direction);
    };
    /** @param {{ at_us: number }} command */
    const at = (command) => `${Math.min(100, (command.at_us / Math.max(1, live_at_us)) * 100)}`;
    const common = new Set(pairs.map(([own]) => own));
    const last = commands.value[ahead].findLast((command) => command.at_us < at_us);
    const names = shownTopics();
    return html`<div class="tp" role="toolbar" aria-label=${t("transport.title")}>
        <span class="tbtn" role="group">
          ${button("start", t("compare.command_back"), "[", () => toCommand(-1))}
          ${button("back", t("transport.back"), ",", step(-1))}
          ${button(runs ? "pause" : "play", t(runs ? "transport.pause" : "transport.play"), "Space", togglePlay, "play")}
          ${button("event", t("transport.step_event"), ".", step(1))}
          ${button("end", t("compare.command_next"), "]", () => toCommand(1))}</span>
        <span class="clock mono">${instant(at_us, 4)}</span>
        <label class="rate"><span class="sr">${t("transport.speed")}</span><select class="chip"
          @change=${onValue((chosen) => setRate(Number(chosen)))}>
          ${RATES.map((one) => html`<option value=${one} .selected=${one === rate.value}>${rateText(one)}</option>`)}</select></label>
        ${names.length > 1 ? html`<select class="chip" aria-label=${t("stage.topic")}
          @change=${onValue((chosen) => (topic.value = chosen))}>
          ${names.map((name) => html`<option .selected=${name === topic.value}>${name}</option>`)}</select>` : ""}
        <span class="last mono dim" title=${last?.line ?? ""}>${last ? html`<span aria-hidden="true">❯</span> ${last.line}` : ""}</span>
      </div>
      <div class="scrub">
        <svg viewBox="0 0 100 10" preserveAspectRatio="none"
          aria-hidden="true">${commands.value[ahead].map((command) => tick(at(command), common.has(command.at_us)))}
          ${forked_us === null ? "" : forkMark(at({ at_us: forked_us }))}</svg>
        <input type="range" min="0" max=${live_at_us} step="1" .value=${live(String(at_us))} aria-label=${t("compare.playhead")}
          aria-valuetext=${instant(at_us)}
          @input=${onValue((chosen) => seek(Number(chosen)))}>
        <span class="mono dim">${durationText(live_at_us)}</span>
      </div>`;
  }
}

const GLYPHS = {
  start: svg`<path d="M6 5v14M19 5l-9 7 9 7z"></path>`,
  end: svg`<path d="M18 5v14M5 5l9 7-9 7z"></path>`,
  back: svg`<path d="M16 5l-9 7 9 7z"></path>`,
  event: svg`<path d="M8 5l9 7-9 7z"></path>`,
  play: svg`<path d="M7 4l13 8-13 8z"></path>`,
  pause: svg`<path d="M7 5h3v14H7zM14 5h3v14h-3z"></path>`,
};
/** The fork of the branches. @param {string} x */
const forkMark = (x) => svg`<line class="fork" x1=${x} x2=${x} y1="0" y2="10"></line>`;
/** A command on the slider; a common one is a full line. @param {string} x @param {boolean} isCommon */
const tick = (x, isCommon) => svg`<line class=${isCommon ? "common" : "own"} x1=${x} x2=${x} y1=${isCommon ? 0 : 4} y2="10"></line>`;

/** @type {Record<string, () => unknown>} */
const KEYS = { " ": togglePlay, ".": () => (pause(), players[ahead].stepEvent(1)), ",": () => (pause(), players[ahead].stepEvent(-1)),
  "]": () => toCommand(1), "[": () => toCommand(-1), Home: () => seek(0), End: () => seek(players[ahead].live_at_us) };

if (main.dataset.a) {
  begin();
  customElements.define("hw-differences", HwDifferences);
  customElements.define("hw-compare-transport", HwCompareTransport);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || closest(event, "select, input:not([type=range])")) return;
    if (event.key === " " && closest(event, "button, a, summary")) return;
    if (closest(event, "[type=range]") && /^(Home|End)$/.test(event.key)) return;
    const run = KEYS[event.key];
    if (!run || !players[ahead]?.view) return;
    event.preventDefault();
    run();
  });
}
