// Answers to anonymous polls, which the class cannot send back to the page. The tab keeps them, for the participant who gave them.

/** @typedef {{ answer: string, sure: number, round: number }} Vote */
/** @typedef {{ slug: string, p: string, poll: number }} Ballot whose answer to which poll: class, participant and poll */

const PREFIX = "highwater.vote.";

/** @param {Ballot} ballot */
const keyOf = ({ slug, p, poll }) => `${PREFIX}${slug}.${p}.${poll}`;

/** The kept answer, of whatever round; null for none, and in a browser without storage. @param {Ballot} ballot @returns {Vote | null} */
export function keptVote(ballot) {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(ballot)) ?? "null");
  } catch {
    return null;
  }
}

/** Keeps an answer, or removes it. @param {Ballot} ballot @param {Vote | null} vote */
export function keepVote(ballot, vote) {
  try {
    if (vote) sessionStorage.setItem(keyOf(ballot), JSON.stringify(vote));
    else sessionStorage.removeItem(keyOf(ballot));
  } catch {
    // Without storage the answer is sent all the same; only this page does not show it again.
  }
}

/** Removes all kept answers: another person may use this tab next. */
export function forgetVotes() {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  } catch {
    // Without storage nothing was kept.
  }
}
