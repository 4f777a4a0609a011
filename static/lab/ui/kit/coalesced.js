// One run of an asynchronous piece of work at a time, however often it is asked for.

/**
 * Returns a function that runs `work`. Called while it runs, it runs once more when it has ended and `pauseMs` have passed.
 * @param {() => Promise<void>} work
 * @param {() => number} pauseMs
 */
export function coalesced(work, pauseMs) {
  let running = false;
  let again = false;
  return async function run() {
    again = running;
    if (running) return;
    running = true;
    try {
      await work();
    } finally {
      running = false;
      if (again) setTimeout(run, pauseMs());
    }
  };
}
