// The elements of the page that compares two branches of the gallery's run. The template has the hosts of the drawings.
import { html } from "../../../kit/element.js";
import { showGroups } from "../frame.js";

/** @import { Group } from "../frame.js" */

// The address stays that of the gallery.
history.replaceState = () => {};
await import("../../compare.js");

/** @type {Record<string, Group>} */
const GROUPS = {
  compare: {
    shown: [
      { tag: "hw-compare-transport", frame: "compare-dock", body: () => html`<hw-compare-transport></hw-compare-transport>` },
      { tag: "hw-differences", frame: "compare differences", body: () => html`<hw-differences></hw-differences>` },
    ],
  },
};
showGroups(GROUPS);
