/** What kind a memory is, guessed from its words when nobody said; and the order of kinds in the prompt. */

import { KINDS } from "../generated/constants.js";
import type { Kind } from "../generated/job.js";
import { PATTERNS } from "../generated/lexicon.js";
import { fold, remembered } from "./words.js";

const DATES = [PATTERNS.date, PATTERNS.chineseDate].map((one) => new RegExp(one, "u"));
const PREFERENCES = [PATTERNS.preference, PATTERNS.chinesePreference].map((one) => new RegExp(one, "u"));
const TIMES = [PATTERNS.time, PATTERNS.chineseTime].map((one) => new RegExp(one, "u"));

/** A date makes a memory time-bound; else a stated taste, a preference; else a time of day counts; else a fact. */
export const guessKind = remembered((text): Kind => {
  const folded = fold(text);
  if (DATES.some((one) => one.test(folded))) return "time-bound";
  if (PREFERENCES.some((one) => one.test(folded))) return "preference";
  return TIMES.some((one) => one.test(folded)) ? "time-bound" : "fact";
});

/** Memories in the prompt's order: time-bound, preferences, facts; within a kind the order given stays. */
export function byKind<M extends { kind: Kind }>(memories: readonly M[]): M[] {
  return memories.toSorted((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind));
}
