// Two ways from a segment to a consumer: read and send, or sendfile. Measured on the run's own file.
import { request, here } from "../../store/api.js";
import { fileName } from "./index.js";
import { EXAMPLE, folderOf, nameOf, pathOf, place, tree } from "../../store/disk.js";
import { steer } from "../../store/interactions.js";
import { HwElement, html, svg } from "../../kit/element.js";
import { bytes, spaced } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { signal } from "../../store/state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Refusal } from "../../../core/refusal.js" */

/**
 * @typedef {"read" | "sendfile"} Way
 * @typedef {"disk" | "cache" | "user" | "socket" | "card"} Station
 * @typedef {{ us: number, cpu_us: number, calls: number, copied_bytes: number }} Cost
 * @typedef {Record<Way, Cost> & { bytes: number, fetches: number, rounds: number }} Measured
 * @typedef {{ key: string, measuring?: boolean, measured?: Measured, error?: Partial<Refusal> }} State
 */

/** Stations of the picture, from left to right; the middle one is in the process. */
const STATIONS = { disk: 8, cache: 158, user: 308, socket: 458, card: 608 };
const WIDTH = 104;

/** 5123.4 -> "5.12 ms" @param {number} us */
const time = (us) => (us >= 1000 ? `${(us / 1000).toFixed(us >= 10_000 ? 1 : 2)} ms` : `${us.toFixed(us >= 100 ? 0 : 1)} µs`);

class HwDiskCopy extends HwElement {
  /** @type {Signal<State>} */
  #state = signal({ key: "" });

  /** The segment to measure: the one that is shown, if it is one, else the newest of its folder. */
  #log() {
    const { path } = place.value;
    if (nameOf(path).endsWith(".log")) return path;
    const folder = tree.value.folders.find(({ name, files }) => (folderOf(path) ? name === folderOf(path)
      : files.some(({ kind }) => kind === "log")));
    const log = folder?.files.findLast(({ kind, bytes: size }) => kind === "log" && size);
    return folder && log ? pathOf(folder.name, log.name) : "";
  }

  /** @param {string} path */
  async #measure(path) {
    if (!steer("command")) return;
    const { broker } = place.peek();
    const key = `${broker}/${path}`;
    this.#state.value = { key, measuring: true };
    try {
      const response = await request(`${here.api}/disk/zero-copy`, { broker, path });
      this.#state.value = { key, measured: await response.json() };
    } catch (error) {
      this.#state.value = { key, error: /** @type {Partial<Refusal>} */ (error) };
    }
  }

  // --- the picture -------------------------------------------------------------------------------------------------

  /** @param {Way} way */
  picture(way) {
    const isRead = way === "read";
    /** @param {Station} name @param {number} y @param {string} [extra] */
    const station = (name, y, extra = "") => svg`<g class="station ${name} ${extra}"><rect x=${STATIONS[name]} y=${y} width=${WIDTH}
      height="34" rx="7"></rect>
      <text x=${STATIONS[name] + WIDTH / 2} y=${y + 21}>${t(`disk.copy.${name}`)}</text></g>`;
    /** @param {string} points @param {string} name @param {string} text @param {number} x @param {number} y */
    const arrow = (points, name, text, x, y) => svg`<g class="way ${name}"><path d=${points} marker-end="url(#arrow-${way}-${name})"></path>
      <text x=${x} y=${y}>${text}</text></g>`;
    const [top, low] = [18, 96];
    const middle = low + 17;
    /** @param {Station} name */
    const edge = (name) => STATIONS[name] + WIDTH;
    /** @param {string} name */
    const tip = (name) => svg`<marker id="arrow-${way}-${name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
      orient="auto">
      <path d="M0 0l8 4-8 4z"></path></marker>`;
    const label = t(isRead ? "disk.copy.read_label" : "disk.copy.sendfile_label");
    return html`<svg class="copy-picture" viewBox="0 0 720 146" role="img" aria-label=${label}>
      <defs>${tip("dma")}${tip("cpu")}${tip("pointer")}</defs>
      <line class="border" x1="0" x2="720" y1="74" y2="74"></line>
      <text class="side" x="2" y="68">${t("disk.copy.user_space")}</text><text class="side" x="2" y="86">${t("disk.copy.kernel")}</text>
      ${station("user", top, isRead ? "" : "ghost")}
      ${/** @type {const} */ (["disk", "cache", "socket", "card"]).map((name) => station(name, low))}
      ${arrow(`M${edge("disk")} ${middle}H${STATIONS.cache - 3}`, "dma", "DMA", (edge("disk") + STATIONS.cache) / 2, middle - 8)}
      ${isRead
        ? svg`${arrow(`M${STATIONS.cache + WIDTH / 2} ${low}V${top + 17}H${STATIONS.user - 3}`, "cpu", t("disk.copy.cpu", { n: 1 }),
          STATIONS.cache + WIDTH / 2 + 46, top + 9)}
          ${arrow(`M${edge("user")} ${top + 17}H${STATIONS.socket + WIDTH / 2}V${low - 3}`, "cpu", t("disk.copy.cpu", { n: 2 }),
            STATIONS.socket + WIDTH / 2 - 46, top + 9)}`
        : arrow(`M${edge("cache")} ${middle}H${STATIONS.socket - 3}`, "pointer", t("disk.copy.pages"),
          (edge("cache") + STATIONS.socket) / 2, middle - 8)}
      ${arrow(`M${edge("socket")} ${middle}H${STATIONS.card - 3}`, "dma", "DMA", (edge("socket") + STATIONS.card) / 2, middle - 8)}
    </svg>`;
  }

  /** @param {Way} way @param {Measured | undefined} measured @param {number} slowest */
  way(way, measured, slowest) {
    const one = measured?.[way];
    /** @param {string} name @param {unknown} value @param {string} [tone] */
    const fact = (name, value, tone = "") => html`<div><dt>${t(`disk.copy.${name}`)}</dt><dd class="mono ${tone}">${value}</dd></div>`;
    const isRead = way === "read";
    return html`<section class="card copy-way ${way}">
      <h3>${t(`disk.copy.way_${way}`)} <code>${isRead ? "read() + send()" : "sendfile()"}</code>
        ${one ? html`<b class="mono">${time(one.us)}</b>` : ""}</h3>
      ${one ? html`<svg class="copy-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect width=${(one.us / slowest) * 100} height="4"></rect></svg>` : ""}
      ${this.picture(way)}
      <dl class="copy-facts">
        ${fact("copies", isRead ? 2 : 0, isRead ? "" : "ok")}
        ${one ? fact("copied", bytes(one.copied_bytes), one.copied_bytes ? "" : "ok") : ""}
        ${one ? fact("calls", spaced(one.calls)) : ""}
        ${one ? fact("switches", spaced(2 * one.calls)) : ""}
        ${one ? fact("processor", time(one.cpu_us)) : ""}
      </dl></section>`;
  }

  render() {
    const path = this.#log();
    const { broker } = place.value;
    if (broker === EXAMPLE || !path) return html`<p
      class="empty-note">${t(broker === EXAMPLE ? "disk.copy.no_example" : "disk.copy.no_segment")}</p>`;
    const state = this.#state.value;
    const isThis = state.key === `${broker}/${path}`;
    const measured = isThis ? state.measured : undefined;
    const slowest = measured ? Math.max(measured.read.us, measured.sendfile.us) : 1;
    const ratio = measured ? measured.read.us / measured.sendfile.us : 1;
    return html`<div class="copy">
      <div class="copy-head"><p>${t("disk.copy.intro")}</p>
        <button class="btn pri" data-takes="act" ?disabled=${isThis && state.measuring}
          @click=${() => this.#measure(path)}>${t(isThis && state.measuring ? "disk.copy.measuring" : "disk.copy.measure")}</button>
        <span class="mono dim">${folderOf(path)}/${fileName(nameOf(path))}</span></div>
      ${isThis && state.error ? html`<div class="message bad"><b>${state.error.what
        ?? t("error.unexpected")}</b><span>${state.error.todo}</span></div>` : ""}
      ${measured ? html`<p class="copy-verdict" role="status">${t(ratio >= 1 ? "disk.copy.faster" : "disk.copy.slower",
        { n: (ratio >= 1 ? ratio : 1 / ratio).toFixed(1), size: bytes(measured.bytes),
          fetches: measured.fetches * measured.rounds })}</p>` : ""}
      ${this.way("read", measured, slowest)}${this.way("sendfile", measured, slowest)}
      <p class="dim">${t("disk.copy.note")}</p></div>`;
  }
}
customElements.define("hw-disk-copy", HwDiskCopy);
