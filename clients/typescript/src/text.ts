/** What text may look like: UTF-8 that encodes, no control characters, a bounded length in code points. */

import { PATTERNS } from "./generated/lexicon.js";

// With the flag u, only lone surrogates match \p{Surrogate}. White space is Python's: without U+FEFF.
const UNFIT = /[\x00-\x08\x0b-\x1f\x7f-\x9f]|\p{Surrogate}/gu;
const SPACE_AT_END = /[^\S\uFEFF]+$/u;
const OUTER_SPACE = /^[^\S\uFEFF]|[^\S\uFEFF]$/u;
const NOT_BLANK = /\S|\uFEFF/u;
const SENTENCE_END = new RegExp(PATTERNS.sentenceEnd, "gu");
// A cut that would lose more than half of what is allowed falls back to a cut between words.
const LEAST_KEPT = 0.5;

/** Lone surrogates become U+FFFD, control characters a space, CRLF a newline. */
export function clean(text: string): string {
  if (isClean(text)) return text;
  return text
    .replaceAll("\r\n", "\n")
    .replace(UNFIT, (found) => (found >= "\ud800" && found <= "\udfff" ? "\ufffd" : " "));
}

export function isClean(text: string): boolean {
  return text.search(UNFIT) < 0;
}

export function isBlank(text: string): boolean {
  return !NOT_BLANK.test(text);
}

export function hasOuterSpace(text: string): boolean {
  return OUTER_SPACE.test(text);
}

/** Shorten to at most `limit` code points, at the end of a sentence where there is one. */
export function cut(text: string, limit: number): [text: string, wasCut: boolean] {
  if (text.length <= limit) return [text, false];
  const points = Array.from(text);
  if (points.length <= limit) return [text, false];
  const head = points.slice(0, limit).join("");
  let end = 0;
  for (const found of head.matchAll(SENTENCE_END)) end = found.index + found[0].length;
  if (length(head.slice(0, end)) >= limit * LEAST_KEPT && end) return [trimEnd(head.slice(0, end)), true];
  const space = points.lastIndexOf(" ", limit);
  return [trimEnd(space >= limit * LEAST_KEPT ? points.slice(0, space).join("") : head), true];
}

/** How many code points. */
export function length(text: string): number {
  return Array.from(text).length;
}

function trimEnd(text: string): string {
  return text.replace(SPACE_AT_END, "");
}
