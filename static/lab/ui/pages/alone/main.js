// A standalone page that plays a recording: the drawings and panels of the lab page on embedded data, without a lab.
import { byId } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { openPlayer } from "../../store/players.js";
import { addScreenKey } from "../lab/keyboard.js";
import "../lab/joined.js";
import { attach, effect, onShown, panels, player, selection } from "../../store/state.js";
import { refuse } from "../../store/api.js";
import { about, answer, rate } from "./data.js";

const lab = byId("lab");
const chosen = Number(new URLSearchParams(location.hash.slice(1)).get("seq"));
const seq = Number.isSafeInteger(chosen) && chosen > 0 ? chosen : null;
const still = matchMedia("(prefers-reduced-motion: reduce)");

document.title = `${about.name} · Highwater`;
byId("skip").textContent = t("page.skip_time");
for (const [id, name] of [["inspector", "inspector.title"], ["time", "transport.title"], ["pages", "page.pages"]])
  byId(id).setAttribute("aria-label", t(name));

panels.value = { side: false, inspector: true };
attach(openPlayer({ run: about.run, branch: about.branch, at: seq ? null : about.from_us, seq, WebSocket: null, fetch: answer }));
player.setRate(rate);
onShown(({ what }) => what.has("refused") && refuse(player.refusal));

// Plays when opened for the first time; stays paused when opened at an instant.
if (!seq && !still.matches) {
  const stop = player.subscribe(() => {
    if (!player.view) return;
    stop();
    player.play();
  });
}

// There is no lab to act in, so elements have no menu of acts.
lab.addEventListener("hw-context", (event) => event.preventDefault());
for (const name of /** @type {const} */ (["zookeeper", "groups", "producers", "transactions", "alarms", "table"])) addScreenKey(name);

effect(() => {
  const narrow = matchMedia("(min-width: 821px) and (max-width: 1279px)").matches;
  if (selection.value && narrow) panels.value = { ...panels.peek(), inspector: true };
});

// The elements read the player when they are defined, so they come last.
await import("./elements.js");
