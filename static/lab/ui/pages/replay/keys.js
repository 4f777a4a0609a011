// The keys of the replay; single letters are off while a field has the focus.
import { closest } from "../../kit/events.js";
import { compare, share, takeOver } from "./actions.js";
import { toggleCaptions } from "../../classroom/sound/caption_choice.js";
import { helpShown } from "./help.js";
import { write } from "./instants.js";
import { step } from "./stage.js";
import * as replay from "./store.js";
import { toChapter } from "./transport.js";

const BACK_US = 10e6;

/** By `KeyboardEvent.key` in lower case. @type {Map<string, () => unknown>} */
const handlers = new Map(Object.entries({
  " ": () => replay.play(!replay.playing.peek()),
  ".": () => step(1),
  ",": () => step(-1),
  enter: () => step("rpc"),
  arrowleft: () => replay.seek(replay.atNow() - BACK_US),
  arrowright: () => replay.seek(replay.atNow() + BACK_US),
  "[": () => toChapter(-1),
  "]": () => toChapter(1),
  home: () => replay.seek(0),
  end: () => replay.seek(replay.length_us.peek()),
  "/": () => /** @type {HTMLElement | null} */ (document.querySelector("hw-replay-lists .search"))?.focus(),
  "?": () => (helpShown.value = true),
  b: takeOver,
  c: toggleCaptions,
  l: replay.toggleLoop,
  m: compare,
  n: () => write("notes"),
  s: share,
}));

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (closest(event, "input, textarea, select, dialog")) return;
  if (["Enter", " "].includes(event.key) && closest(event, "button, a, summary")) return;
  const run = handlers.get(event.key.toLowerCase());
  if (!run) return;
  event.preventDefault();
  void run();
});

// A button pressed with the pointer gives up the focus, so that Space and Enter are keys of the replay again.
addEventListener("click", (event) => event.detail > 0 && closest(event, "button")?.blur());
