// Small signs that drawings share.

/** The sign of each role. */
export const GLYPHS = {
  leader: "M0 -5.2l1.5 3.3 3.6.4-2.7 2.4.8 3.5L0 2.6l-3.2 1.8.8-3.5-2.7-2.4 3.6-.4z",
  isr: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
  outisr: "M0 -3.7a3.7 3.7 0 0 0 0 7.4z",
  offline: "M-3.4 -3.4l6.8 6.8m0 -6.8l-6.8 6.8",
};
