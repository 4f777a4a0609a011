// A standalone page that replays a class from the data that it contains, without a lab.
import { instantOf } from "../../../../core/replay/class_time.js";
import { byId } from "../../../kit/element.js";
import { t } from "../../../kit/i18n.js";
import { source } from "../../replay/source.js";
import { about, answer, soundOf } from "./data.js";

const chosen = new URLSearchParams(location.hash.slice(1)).get("at") ?? "";
byId("replay").dataset.at = String(instantOf(chosen) ?? about.first_us ?? 0);
source.fetch = answer;
source.soundOf = soundOf;

document.title = `${about.title} · Highwater`;
byId("skip").textContent = t("page.skip");
for (const [id, name] of [["canvas", "replay.stage"], ["dock", "replay.class_time"], ["timeline", "replay.lab_time"]])
  byId(id).setAttribute("aria-label", t(name));

// The modules of the replay read the page and request the recording when they are loaded, so they come last.
await import("../../replay/main.js");
await import("./about.js");
