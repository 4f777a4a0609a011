// The elements of a page that plays a recording by itself. They read its description from the page when they are loaded.
import { html } from "../../../kit/element.js";
import { showGroups } from "../frame.js";
import { MANIFEST } from "../replay/state.js";

/** @import { Group } from "../frame.js" */

const SAVED_MS = 1_767_268_800_000;

const RUN = {
  about: {
    run: "k0", name: "The lost record, with a name that tells what happened in it", branch: "main", era: "3.9", brokers: 3, seed: 7,
    saved_ms: SAVED_MS, events: 840, branch_events: 1200, from_us: 2e6, to_us: 17_302_000, start_wall_ms: SAVED_MS - 3_600_000,
    version: "1.0", core: "5f3a9c1e",
  },
  index: { last_at_us: 17_302_000 },
};
const CLASS = { ...MANIFEST, alone: true, chapters: { en: MANIFEST.chapters }, saved_ms: SAVED_MS, wall_ms: SAVED_MS - 7_200_000,
  whole_us: MANIFEST.length_us, version: "1.0", left_out: true };

/** Data as such a page has it: compressed, in base64. @param {unknown} content */
async function packed(content) {
  const stream = new Blob([JSON.stringify(content)]).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes));
}

/** @param {string} id @param {string} textContent */
const embed = (id, textContent) => document.body.append(Object.assign(document.createElement("div"), { id, textContent, hidden: true }));

embed("index", await packed(RUN));
embed("about", await packed(CLASS));
embed("licences", "Highwater: Apache License 2.0\nLit: BSD 3-Clause License");

const isOfClass = new URLSearchParams(location.search).get("group") === "class";
// Both define the same elements.
await (isOfClass ? import("../../alone/class/about.js") : import("../../alone/about.js"));

/** @type {Group} */
const GROUP = {
  shown: [
    { tag: "hw-about", frame: "row", body: () => html`<hw-about></hw-about>` },
    { tag: "hw-switches", frame: "row", body: () => html`<hw-switches></hw-switches>` },
    {
      tag: "hw-overlays",
      state: "about",
      body: () => html`<hw-overlays></hw-overlays>`,
      act: () => /** @type {HTMLElement} */ (document.querySelector("hw-about button")).click(),
      until: "dialog",
    },
  ],
};
showGroups({ run: GROUP, class: GROUP });
