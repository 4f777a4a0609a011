// Class time as people write it.

/** An instant of class time written as 31:42, 31:42.5 or 1:05:00; null for other texts. @param {string} text */
export function instantOf(text) {
  const parts = /^\s*(?:(\d{1,2}):(?=\d\d:))?(\d{1,4}):([0-5]\d(?:\.\d{1,6})?)\s*$/.exec(text);
  return parts && Math.round(((Number(parts[1] ?? 0) * 60 + Number(parts[2])) * 60 + Number(parts[3])) * 1e6);
}
