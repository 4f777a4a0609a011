// Whom the class follows: a learner whose lab is on stage, else the presenter.
import { computed } from "@preact/signals-core";
import { t } from "../kit/i18n.js";
import { joined, tree } from "./store.js";

/**
 * `term` changes with whom and what is followed.
 * @typedef {{ name: string, lab: string, isStage: boolean, term: number | string }} Followed
 */

/** Whom this page may follow; null for none, and for the one who is followed. */
export const followed = computed(() => {
  const { lead, stage, mine } = tree.value;
  if (mine?.on_stage) return null;
  /** @type {Followed | null} */
  let found = null;
  if (stage?.shown) found = { name: stage.name || t("board.a_learner"), lab: stage.lab, isStage: true, term: `stage ${stage.lab}` };
  else if (lead && lead.p !== joined()?.you?.p) found = { name: lead.name, lab: lead.lab, isStage: false, term: lead.term };
  return found;
});

/** The run of a lab. @param {string} [lab] */
export const runOf = (lab) => lab?.split("/")[0];
