// The elements of the lab page: a player of the gallery's recording at the instant of a scene, and the elements of one group around it.
import { Player } from "../../../../core/player/player.js";
import { byId } from "../../../kit/element.js";
import { here } from "../../../store/api.js";
import { attach, moment, select, shown } from "../../../store/state.js";
import { showGroups } from "../frame.js";

const lab = byId("lab");
attach(new Player({
  url: location.origin, run: here.run, branch: here.branch, csrf: lab.dataset.csrf, seq: Number(lab.dataset.seq), WebSocket: null,
}));
select(lab.dataset.selection ?? "");

await import("../../lab/elements.js");
await import("../../../parts/search.js");
// The drawings drive the player frame by frame, so they are there in each group.
await import("../../lab/stage.js");
const { GROUPS } = await import("./components.js");

/** Elements read the instant when they are first drawn, so they are added once it is loaded. */
const loaded = () => new Promise((resolve) => {
  const stop = moment.subscribe(({ seq }) => {
    if (!seq) return;
    queueMicrotask(() => stop());
    resolve(seq);
  });
});
await loaded();
showGroups(GROUPS, { stays: true, before: ({ screen = "picture" }) => void (shown.value = screen) });
