// What has changed since the last notification, and the listeners that are notified.

/**
 * @typedef {"view" | "time" | "live" | "mode" | "connection" | "index" | "exercise" | "refused"} Aspect
 * @typedef {{ what: Set<Aspect>, touched: Set<string>, reset: boolean }} Change
 *   `touched`: the first two keys of the paths that were written ("replicas/orders-0@b1"); `reset`: the whole view is new
 */

export class Changes {
  /** The next notification; writers of the view add what they changed. @type {Change} */
  next = nothing();
  /** @type {Set<(change: Change) => void>} */
  #listeners = new Set();

  /** @param {(change: Change) => void} listener @returns {() => void} ends it */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Included in the next notification. @param {...Aspect} aspects */
  note(...aspects) {
    for (const aspect of aspects) this.next.what.add(aspect);
  }

  /** Notifies the listeners of all that was noted, if anything was. */
  notify() {
    if (this.next.what.size === 0) return;
    const change = this.next;
    this.next = nothing();
    for (const listener of this.#listeners) listener(change);
  }

  /** There are no subscribers any more. */
  end() {
    this.#listeners.clear();
  }
}

/** @returns {Change} */
function nothing() {
  return { what: new Set(), touched: new Set(), reset: false };
}
