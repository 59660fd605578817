/**
 * Near-duplicates among memories; the newest of them survives.
 *
 * Two say the same when their embeddings nearly agree or, where embeddings are missing, when one holds all the
 * words of the other, in their order, and little more; and either way only if they agree in every particular.
 */

import { PREFILTER } from "../generated/constants.js";
import { FILLERS as FILLING, PATTERNS } from "../generated/lexicon.js";
import type { Candidate } from "../candidate.js";
import { sameParticulars } from "./particulars.js";
import { dot, unit } from "./vectors.js";
import { fold, remembered, stem } from "./words.js";

const FILLERS: ReadonlySet<string> = new Set(FILLING);
const NEGATION = new RegExp(PATTERNS.negation, "gu");
const CHINESE_FILLERS = new RegExp(PATTERNS.chineseFillers, "gu");
const CHINESE = "\\u3400-\\u9fff\\uf900-\\ufaff";
const WORD = new RegExp(`(?:(?![${CHINESE}])[\\p{L}\\p{N}])+|[${CHINESE}]`, "gu");

interface Words {
  /** English stems and single Chinese characters, without fillers. */
  readonly sequence: readonly string[];
  readonly distinct: ReadonlySet<string>;
}

interface Seen extends Words {
  readonly memory: Candidate;
  readonly direction: Float64Array | null;
}

/**
 * Positions of memories that a newer one repeats.
 *
 * Of two that are equally new the first stays; one whose time is unknown counts as the oldest. A memory goes
 * only for one that stays.
 */
export function duplicates(memories: readonly Candidate[]): Set<number> {
  const seen = memories.map((memory): Seen => {
    const direction = memory.embedding?.length ? unit(memory.embedding) : null;
    return { memory, direction, ...words(memory.text) };
  });
  const newness = memories.map((one) => one.time ?? Number.NEGATIVE_INFINITY);
  const newestFirst = memories
    .map((_, place) => place)
    .sort((one, other) => compare(newness[other] as number, newness[one] as number));
  const gone = new Set<number>();
  newestFirst.forEach((newer, rank) => {
    if (gone.has(newer)) return;
    for (const older of newestFirst.slice(rank + 1)) {
      if (!gone.has(older) && same(seen[newer] as Seen, seen[older] as Seen)) gone.add(older);
    }
  });
  return gone;
}

function compare(one: number, other: number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function same(newer: Seen, older: Seen): boolean {
  const embedded = newer.direction !== null && older.direction?.length === newer.direction.length;
  const alike = embedded
    ? dot(newer.direction, older.direction as Float64Array) > PREFILTER.leastCosine
    : contains(newer, older);
  if (!alike) return false;
  // An embedding hardly tells who lends whom; a rewording has other words, not the same in another order.
  const ordered = embedded && !sameWords(newer.sequence, older.sequence);
  if (!ordered && !inOrder(newer.sequence, older.sequence)) return false;
  return sameParticulars(newer.memory.text, older.memory.text);
}

/** Whether one has all words of the other, and that is at least `leastOverlap` of its own. */
function contains(one: Words, other: Words): boolean {
  const [smaller, larger] =
    one.distinct.size <= other.distinct.size ? [one.distinct, other.distinct] : [other.distinct, one.distinct];
  if (smaller.size < PREFILTER.leastOverlap * larger.size) return false;
  for (const word of smaller) if (!larger.has(word)) return false;
  return true;
}

function sameWords(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  const sorted = other.toSorted();
  return one.toSorted().every((word, at) => word === sorted[at]);
}

/** Whether the shorter is the longer with words left out, or a clause has moved from end to front. */
function inOrder(one: readonly string[], other: readonly string[]): boolean {
  const [shorter, longer] = one.length <= other.length ? [one, other] : [other, one];
  let at = 0;
  for (const word of longer) if (word === shorter[at]) at += 1;
  if (at === shorter.length) return true;
  // With fewer words a rotation may be a swap: "Oslo, Bergen" and "Bergen, Oslo".
  if (shorter.length < PREFILTER.leastRotated || shorter.length !== longer.length) return false;
  return ` ${[...longer, ...longer].join(" ")} `.includes(` ${shorter.join(" ")} `);
}

const words = remembered((text): Words => {
  const plain = fold(text).replace(NEGATION, " not").replace(CHINESE_FILLERS, "");
  const found = Array.from(plain.matchAll(WORD), ([word]) => word);
  const sequence = found.filter((word) => !FILLERS.has(word)).map(stem);
  // A text of nothing but fillers and signs stands for itself.
  if (!sequence.length) sequence.push(text);
  return { sequence, distinct: new Set(sequence) };
});
