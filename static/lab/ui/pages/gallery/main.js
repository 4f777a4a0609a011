// The gallery: a player of the gallery's recording at the instant of a scene, and the elements of one group around it.
import { nothing, render } from "lit";
import { Player } from "../../../core/player/player.js";
import { createStage } from "../../../draw/stage.js";
import { byId, html } from "../../kit/element.js";
import { t, texts } from "../../kit/i18n.js";
import { here } from "../../store/api.js";
import { attach, moment, player, select, shown } from "../../store/state.js";
import { showClass } from "./class_state.js";
import { GROUPS } from "./components.js";

const lab = byId("lab");
const query = new URLSearchParams(location.search);
let name = Object.hasOwn(GROUPS, query.get("group") ?? "") ? String(query.get("group")) : "controls";

attach(new Player({
  url: location.origin, run: here.run, branch: here.branch, csrf: lab.dataset.csrf, seq: Number(lab.dataset.seq), WebSocket: null,
}));
shown.value = GROUPS[name].screen;
select(lab.dataset.selection ?? "");
// The drawings drive the player frame by frame, so they are there in each group.
createStage({ stage: byId("stage"), timeline: byId("timeline") }, player, { t, texts });

/** @param {string} one */
const addressOf = (one) => `?${new URLSearchParams({ ...Object.fromEntries(query), group: one })}`;

/** Another group replaces the one that is shown; the page stays. @param {MouseEvent} event @param {string} one */
function choose(event, one) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || !document.body.dataset.group) return;
  event.preventDefault();
  history.replaceState(null, "", addressOf(one));
  name = one;
  shown.value = GROUPS[name].screen;
  draw();
}

/** The chips; the current one is marked. */
function drawChips() {
  const chips = Object.keys(GROUPS).map((one) => html`<a class="chip" aria-current=${one === name ? "page" : "false"}
    href=${addressOf(one)} @click=${(/** @type {MouseEvent} */ event) => choose(event, one)}>${one}</a>`);
  render(chips, byId("gallery-groups"));
}

/** Elements read the instant when they are first drawn, so they are added once it is loaded. */
function draw() {
  drawChips();
  const items = GROUPS[name].shown.map(({ tag, frame = "", body }) => html`<section class="gallery-item" data-component=${tag}>
    <h2>${tag}</h2><div class="gallery-frame ${frame}">${body()}</div></section>`);
  render(nothing, byId("gallery"));
  render(items, byId("gallery"));
  document.body.dataset.group = name;
}

drawChips();
await import("../lab/elements.js");
await import("../../parts/search.js");
await import("../classroom/elements.js");
await import("../../classroom/learner_panel.js");
showClass();
const stop = moment.subscribe(({ seq }) => {
  if (!seq) return;
  queueMicrotask(() => stop());
  draw();
});
