// Rules that a file breaks. The first few hundred are kept, all are counted: a damaged file may break one a million times.

const MAX_FINDINGS = 300;

/** Rules whose violations are notes, not faults. */
const NOTES = new Set(["table_zeros", "log_missing", "cancelled"]);

export class Findings {
  /** @type {{rule: string, position: number, values: Record<string, unknown>}[]} */
  list = [];
  total = 0;
  notes = 0;
  /** @type {Record<string, number>} */
  byRule = {};

  /** @param {string} rule @param {number} position in the file @param {Record<string, unknown>} [values] */
  add(rule, position, values = {}) {
    this.byRule[rule] = (this.byRule[rule] ?? 0) + 1;
    if (NOTES.has(rule)) this.notes += 1;
    else this.total += 1;
    if (this.list.length < MAX_FINDINGS) this.list.push({ rule, position, values });
  }

  /** @param {{rule: string, position: number, values: Record<string, unknown>}[]} found */
  addAll(found) {
    for (const { rule, position, values } of found) this.add(rule, position, values);
  }

  /** Removes the findings of some rules, which one sentence replaces. @param {string[]} rules */
  remove(rules) {
    this.list = this.list.filter(({ rule }) => !rules.includes(rule));
    for (const rule of rules) {
      this.total -= this.byRule[rule] ?? 0;
      delete this.byRule[rule];
    }
  }
}
