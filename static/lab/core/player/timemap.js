// Time: simulated microseconds <-> pixels, speeds, pacing by events, and how instants are written.

/**
 * A straight map between a span of simulated time and a span of pixels.
 * @param {number} from_us
 * @param {number} to_us
 * @param {number} left
 * @param {number} right
 */
export function scale(from_us, to_us, left, right) {
  const per_us = (right - left) / Math.max(1, to_us - from_us);
  return {
    from_us,
    to_us,
    per_us,
    /** @param {number} at_us */
    x: (at_us) => left + (at_us - from_us) * per_us,
    /** @param {number} x */
    at: (x) => from_us + (x - left) / per_us,
  };
}

/** @typedef {ReturnType<typeof scale>} Scale */

// --- speed -----------------------------------------------------------------------------------------------------

const MIN_RATE = 0.001;
const MAX_RATE = 100;
/** The speeds that `[` and `]` walk through. */
export const RATES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100];

/** The position of a speed on a logarithmic slider, 0 to 1. @param {number} rate */
export function fractionOfRate(rate) {
  return Math.log(Math.min(MAX_RATE, Math.max(MIN_RATE, rate)) / MIN_RATE) / Math.log(MAX_RATE / MIN_RATE);
}

/** The speed at a place of the slider, one of RATES. @param {number} fraction */
export function rateAt(fraction) {
  const rate = MIN_RATE * (MAX_RATE / MIN_RATE) ** Math.min(1, Math.max(0, fraction));
  return RATES.reduce((best, one) => (Math.abs(Math.log(one / rate)) < Math.abs(Math.log(best / rate)) ? one : best));
}

/** The next speed up (+1) or down (-1). @param {number} rate @param {1 | -1} direction */
export function nextRate(rate, direction) {
  const steps = direction > 0 ? RATES : RATES.toReversed();
  return steps.find((one) => (one - rate) * direction > rate * 1e-6) ?? steps[steps.length - 1];
}

/** "1/400×", "1×", "20×". Paced by events the rate is any number: two digits of it are enough. @param {number} rate */
export function rateText(rate) {
  const digits = (/** @type {number} */ value) => Number(value.toPrecision(2));
  return rate < 1 ? `1/${digits(1 / rate)}×` : `${digits(rate)}×`;
}

// --- pacing by events ------------------------------------------------------------------------------------------

/** With messages on their way, the stretch up to the next event takes this long on screen, ms. */
export const DELIVERY_MS = 700;
/** Time in which nothing moves is squeezed to at most this, ms. */
export const IDLE_MS = 400;

/**
 * How long a stretch between two events lasts on screen in the event-paced mode.
 * A stretch in which several events share an instant takes no time, so a delivery and all it sets off appear together.
 * @param {number} gap_us simulated length of the stretch
 * @param {boolean} moving is a message on its way in it
 * @param {number} rate the chosen speed, which idle time may at most have
 * @returns {number} milliseconds of wall time
 */
export function pacedMs(gap_us, moving, rate) {
  if (gap_us <= 0) return 0;
  return moving ? DELIVERY_MS : Math.min(IDLE_MS, gap_us / 1000 / rate);
}

// --- how instants are written ----------------------------------------------------------------------------------

/** "36.413100": seconds with six digits, as in an address. @param {number} at_us */
export function secondsText(at_us, digits = 6) {
  return (Math.floor(at_us) / 1e6).toFixed(digits);
}

/** { clock: "00:36.413", micros: "100" }. @param {number} at_us */
export function clockText(at_us) {
  const us = Math.max(0, Math.floor(at_us));
  const hours = Math.floor(us / 3.6e9);
  const minutes = String(Math.floor(us / 6e7) % 60).padStart(2, "0");
  const seconds = String(Math.floor(us / 1e6) % 60).padStart(2, "0");
  const millis = String(Math.floor(us / 1000) % 1000).padStart(3, "0");
  return { clock: `${hours ? `${hours}:` : ""}${minutes}:${seconds}.${millis}`, micros: String(us % 1000).padStart(3, "0") };
}

/** "340 µs", "6.0 ms", "16.4 s", "12 min". @param {number} us */
export function durationText(us) {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${us < 1e4 ? (us / 1000).toFixed(1) : Math.round(us / 1000)} ms`;
  if (us < 6e8) return `${us < 1e8 ? (us / 1e6).toFixed(1) : Math.round(us / 1e6)} s`;
  return `${Math.round(us / 6e7)} min`;
}

/** The same without the blank, for narrow places: "16.4s". @param {number} us */
export function shortDurationText(us) {
  return durationText(us).replace(" ", "");
}

/**
 * Round instants for an axis: at most `count` of them, a power of ten times 1, 2 or 5 apart.
 * @param {number} from_us
 * @param {number} to_us
 * @param {number} count
 * @returns {{ step_us: number, ticks: number[] }}
 */
export function ticks(from_us, to_us, count) {
  const raw = Math.max(1, (to_us - from_us) / Math.max(1, count));
  const power = 10 ** Math.floor(Math.log10(raw));
  const step_us = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? raw;
  const list = [];
  for (let tick = Math.ceil(from_us / step_us) * step_us; tick <= to_us; tick += step_us) list.push(tick);
  return { step_us, ticks: list };
}

/**
 * An instant on an axis whose ticks are `step_us` apart: as many digits of a second as the step needs.
 * @param {number} at_us
 * @param {number} step_us
 */
export function tickText(at_us, step_us) {
  return (at_us / 1e6).toFixed(Math.min(6, Math.max(0, Math.ceil(6 - Math.log10(step_us)))));
}
