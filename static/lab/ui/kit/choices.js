// Walking a group of choices with the arrow keys.

const WAYS = new Map([["ArrowDown", 1], ["ArrowRight", 1], ["ArrowUp", -1], ["ArrowLeft", -1]]);

/**
 * The choice that an arrow key leads to, around the ends; from none chosen, forward to the first and backward to the last.
 * @param {string[]} values
 * @param {string} chosen "" if none is
 * @param {string} key
 * @returns {string | undefined} undefined if the key is not an arrow
 */
export function nextChoice(values, chosen, key) {
  const way = WAYS.get(key);
  if (way === undefined) return undefined;
  const place = values.indexOf(chosen);
  if (place < 0) return values.at(way > 0 ? 0 : -1);
  return values.at((place + way) % values.length);
}
