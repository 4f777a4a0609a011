// A log as one bar: the number of batches at each position, the bytes that an index points at, and violated rules.
import { HwElement, html, svg } from "../../kit/element.js";
import { spaced } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { answerOf, batch, choose, chosen, marked, pointed } from "./client.js";
import { size } from "./texts.js";

/** @import { LogSummary } from "../../../own_files/own_files.js" */

const BASE = 30;
const MAX_HEIGHT = 22;
const MIN_HEIGHT = 3;
const HEIGHT = 44;
/** Up to this number, batches are drawn as cells, each as long as it is. */
const MAX_CELLS = 120;

class HwOwnMap extends HwElement {
  static properties = { summary: { attribute: false }, log: { attribute: false } };

  constructor() {
    super();
    /** @type {LogSummary | null} */
    this.summary = null;
    /** The log's id. */
    this.log = 0;
  }

  /** @param {MouseEvent} event */
  async #seek(event) {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const position = Math.floor(((event.clientX - box.left) / box.width) * (this.summary?.size ?? 0));
    const row = await answerOf("find", { id: this.log, position });
    if (row === null) return;
    if (chosen.value !== this.log) choose(this.log);
    marked.value = row;
    batch.value = { id: this.log, row };
  }

  /**
   * Bars as high as there are batches; or cells from the beginning of one batch to that of the next.
   * @param {LogSummary} summary
   * @param {number} read
   */
  bars({ bins: { batches, controls }, count: total }, read) {
    const begins = [...batches.keys()].filter((at) => batches[at]);
    if (total <= MAX_CELLS)
      return begins.map((at, n) => svg`<rect class="cell ${controls[at] === batches[at] ? "control" : "batch"}" x=${at + 0.15}
        y=${BASE - MAX_HEIGHT}
        width=${Math.max(0.7, (begins[n + 1] ?? read) - at - 0.3)} height=${MAX_HEIGHT}></rect>`);
    const most = Math.max(1, ...batches);
    return [...batches].map((count, at) => {
      if (!count) return "";
      const height = MIN_HEIGHT + ((MAX_HEIGHT - MIN_HEIGHT) * count) / most;
      return svg`<rect class=${controls[at] === count ? "control" : "batch"} x=${at + 0.1} y=${BASE - height} width="0.8"
        height=${height}></rect>`;
    });
  }

  /** @param {string} name @param {Uint32Array | null} counts @param {number} y @param {number} height */
  marks(name, counts, y, height) {
    return [...(counts ?? [])].map((count, at) => (count
      ? svg`<rect class=${name} x=${at + 0.15} y=${y} width="0.7" height=${height}></rect>` : ""));
  }

  render() {
    if (!this.summary) return html``;
    const { bins, entries, size: whole, position, count } = this.summary;
    const wide = bins.batches.length;
    /** @param {number} at */
    const place = (at) => (at / Math.max(1, whole)) * wide;
    return html`<svg class="map" viewBox="0 0 ${wide} ${HEIGHT}" preserveAspectRatio="none" role="img" @click=${this.#seek}
        aria-label=${t("own.map", { n: spaced(count), size: size(whole) })}>
        <rect class="ground" x="0" y="4" width=${wide} height=${BASE - 4}></rect>
        <rect class="unread" x=${place(position)} y="4" width=${Math.max(0, wide - place(position))} height=${BASE - 4}></rect>
        ${this.bars(this.summary, place(position))}${this.marks("entry", entries, BASE + 2, 5)}${this.marks("fault", bins.faults, 0, BASE)}
        ${pointed.value < 0 ? "" : svg`<rect class="pointer" x=${Math.min(wide - 0.6, place(pointed.value))} y="0" width="0.6"
          height=${HEIGHT}></rect>`}
      </svg>
      <div class="map-legend"><span class="num">0</span><span><i class="batch"></i>${t("own.legend.batches")}</span>
        ${this.summary.controls ? html`<span><i class="control"></i>${t("own.legend.controls")}</span>` : ""}
        ${entries?.some(Boolean) ? html`<span><i class="entry"></i>${t("own.legend.entries")}</span>` : ""}
        ${bins.faults.some(Boolean) ? html`<span><i class="fault"></i>${t("own.legend.faults")}</span>` : ""}
        <span class="spacer"></span><span class="num">${size(whole)}</span></div>`;
  }
}
customElements.define("hw-own-map", HwOwnMap);
