// The form that imports a file.
import "../../imports.js";
import { html } from "../../../kit/element.js";
import { t } from "../../../kit/i18n.js";
import { REFUSAL, answer } from "../answers.js";

/** @import { Group, Shown } from "../frame.js" */

const NOW = { state: "running", stage: "execute", done: 41_000, of: 90_000, address: "", error: null };

/** An import that was begun before the page was loaded. @param {string} state @param {object} now @param {string} until @returns {Shown} */
const imports = (state, now, until) => ({
  tag: "hw-import",
  state,
  frame: "padded",
  set: () => answer(`/api/imports/${state}.json`, { ...NOW, ...now }),
  until,
  body: () => html`<form class="import-run card"><h2>${t("runs.import")}</h2>
    <label class="field"><span>${t("runs.import_file")}</span><input type="file" name="file"></label>
    <button class="btn">${t("runs.import")}</button><hw-import data-import=${state}></hw-import></form>`,
});

/** @type {Group} */
export const IMPORTS = {
  shown: [
    imports("uploads", { stage: "upload", done: 12e6, of: 48e6 }, "progress"),
    imports("executes", {}, "progress"),
    imports("complete", { state: "done", address: "/r/k0/main" }, ".message.ok"),
    imports("cancelled", { state: "cancelled" }, ".message"),
    imports("failed", { state: "failed", error: REFUSAL }, ".message.bad"),
  ],
};
