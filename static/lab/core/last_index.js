// Binary search in a sorted sequence.

/**
 * The last index in 0..length-1 that passes a test which holds up to some index and not after; -1 if none does.
 * @param {number} length
 * @param {(i: number) => boolean} test
 */
export function lastIndex(length, test) {
  let low = -1;
  let high = length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (test(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
