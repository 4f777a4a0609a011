// The gallery: a player of the gallery's recording at the instant of a scene, and the elements of one group around it.
import { render } from "lit";
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
const group = GROUPS[query.get("group") ?? ""] ?? GROUPS.controls;

attach(new Player({
  url: location.origin, run: here.run, branch: here.branch, csrf: lab.dataset.csrf, seq: Number(lab.dataset.seq), WebSocket: null,
}));
shown.value = group.screen;
select(lab.dataset.selection ?? "");
// The drawings drive the player frame by frame, so they are there in each group.
createStage({ stage: byId("stage"), timeline: byId("timeline") }, player, { t, texts });

const groups = Object.entries(GROUPS).map(([one, of]) => html`<a class="chip" aria-current=${of === group ? "page" : "false"}
  href="?${new URLSearchParams({ scene: query.get("scene") ?? "brokers", group: one })}">${one}</a>`);
render(groups, byId("gallery-groups"));

/** Elements read the instant when they are first drawn, so they are added once it is loaded. */
function draw() {
  const items = group.shown.map(({ tag, frame = "", body }) => html`<section class="gallery-item" data-component=${tag}>
    <h2>${tag}</h2><div class="gallery-frame ${frame}">${body()}</div></section>`);
  render(items, byId("gallery"));
  document.body.dataset.ready = "true";
}

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
