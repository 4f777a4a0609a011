// Actions on an instant of a recorded class: take over, share, compare with the viewer's own lab.
import { signal } from "@preact/signals-core";
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { clockText, tree } from "../../classroom/store.js";
import { lab, place } from "./stage.js";
import * as replay from "./store.js";

/** @import { Signal } from "@preact/signals-core" */

/**
 * @typedef {{ tone: "ok" | "bad", what: string, todo: string, links?: [href: string, name: string][] }} Said `links`:
 * links to related pages
 */
/** @type {Signal<Said | null>} */
const said = signal(null);
const isBusy = signal(false);
const SAID_MS = 4000;

/** Shows why an action failed. @param {import("./store.js").Refused} error */
export const refuse = ({ what = "", expected = "", todo = "", message }) =>
  void (said.value = { tone: "bad", what: what || message, todo: [expected, todo].filter(Boolean).join(" ") });

/** Clears the message after a successful action. */
export const settle = () => said.peek()?.tone === "bad" && (said.value = null);

/** Starts a run of the viewer's own that continues from the instant shown. */
export async function takeOver() {
  const at = place();
  if (!at || isBusy.peek() || !replay.manifest.peek()?.can.take_over) return;
  replay.play(false);
  isBusy.value = true;
  try {
    const { href } = await replay.send("take-over", { lab: at.lab, seq: at.seq });
    location.assign(href);
  } catch (error) {
    refuse(/** @type {Error} */ (error));
  } finally {
    isBusy.value = false;
  }
}

/** Opens the lab side by side with a run of the viewer's own, at the instant shown. */
export function compare() {
  const at = place();
  const known = replay.manifest.peek();
  const shown = at && known?.labs.find(({ n }) => n === at.lab);
  if (!at || !known || !shown || known.alone) return;
  replay.play(false);
  const lesson = tree.peek().class?.chapter;
  const runs = known.own_runs.filter(({ address }) => address !== shown.address);
  const own = (runs.find((one) => one.lesson === lesson) ?? runs[0])?.address;
  if (!own) {
    said.value = { tone: "ok", what: t("replay.compare_none"), todo: t("replay.compare_none_todo"),
      links: lesson ? [[`/course/${lesson}/`, t("replay.to_lesson")]] : [] };
    return;
  }
  const seconds = (at.at_us / 1e6).toFixed(6);
  const query = new URLSearchParams({ a: `class/${known.slug}/${shown.n}`, b: own, of: "a", seq: String(at.seq), t: seconds });
  location.assign(`/compare/?${query.toString().replaceAll("%2F", "/")}`);
}

/** Copies the link to the instant. */
export async function share() {
  if (replay.manifest.peek()?.alone) return;
  const address = `${location.origin}${replay.classPage}replay/?at=${replay.addressTime(replay.atNow())}`;
  try {
    await navigator.clipboard.writeText(address);
    said.value = { tone: "ok", what: t("replay.copied"), todo: "" };
    setTimeout(() => said.peek()?.tone === "ok" && (said.value = null), SAID_MS);
  } catch {
    said.value = { tone: "ok", what: address, todo: "" };
  }
}

class HwReplayActions extends HwElement {
  render() {
    const found = replay.manifest.value;
    // Without a lab there is nothing to compare and no link to share.
    if (!found || found.alone) return "";
    const isEmpty = lab.value === null;
    return html`<button class="btn" ?disabled=${isEmpty} title="${t("replay.compare_title")} ( M )" @click=${compare}>${t("replay.compare")}
        <kbd>M</kbd></button>
      ${found.can.take_over ? html`<button class="btn primary" ?disabled=${isEmpty || isBusy.value} @click=${takeOver}
        title="${t("replay.take_over_title")} ( B )">${t(isBusy.value ? "replay.taking_over" : "replay.take_over")} <kbd
          >B</kbd></button>` : ""}
      ${found.can.correct ? html`<a class="btn" href="${replay.classPage}analytics/?at=${replay.addressTime(replay.at_us.value)}">${t(
        "analytics.title")}</a>` : ""}
      <button class="btn" @click=${share}>${t("replay.share", { at: clockText(replay.at_us.value) })} <kbd>S</kbd></button>`;
  }
}
customElements.define("hw-replay-actions", HwReplayActions);

class HwReplaySaid extends HwElement {
  render() {
    const shown = said.value;
    if (!shown) return "";
    const role = shown.tone === "bad" ? "alert" : "status";
    const links = (shown.links ?? []).map(([href, name]) => html`<a href=${href}>${name}</a> `);
    return html`<div class="message ${shown.tone}" role=${role}><b>${shown.what}</b> ${shown.todo} ${links}
      <button class="btn" @click=${() => (said.value = null)}>${t("replay.close")}</button></div>`;
  }
}
customElements.define("hw-replay-said", HwReplaySaid);
