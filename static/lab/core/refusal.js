// What was not done, and why.

/**
 * A refusal by the server: what was wrong, what was expected, what to do; or by the page in its place, with a code: the
 * catalogue's `refusal.CODE` is shown then.
 */
export class Refusal extends Error {
  /** @param {{ code?: string, what: string, expected?: string, todo?: string }} said */
  constructor({ code = "refused", what, expected = "", todo = "" }) {
    super(what);
    this.code = code;
    this.what = what;
    this.expected = expected;
    this.todo = todo;
  }
}
