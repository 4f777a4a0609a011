// The elements of the replay of a class, on a recording that is fixed. The template has what their modules look for in the page.
import { answer } from "../answers.js";
import { showGroups } from "../frame.js";
import { figures } from "../figures.js";
import { CUES } from "./state.js";

const BASE = "/api/classes/gallery/recording";
for (const [language, cues] of Object.entries(CUES)) answer(`${BASE}/captions/${language}`, { cues });
answer(`${BASE}/notes`, []);
answer("/api/runs/k0/main/analytics/tables.json", { made_to: 900, last_seq: 900, figures: figures("offsets", "latency") });
// Both are read when the modules are loaded.
localStorage.setItem("highwater.replay.charts", "shown");
localStorage.setItem("highwater.replay.idle", "skipped");

const { GROUPS } = await import("./components.js");
showGroups(GROUPS, { stays: true });
