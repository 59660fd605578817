/** The prefilter: drop near-duplicates, score what is left by three signals, keep the best. Also the fallback. */

import type { Candidate } from "../candidate.js";
import { PREFILTER } from "../generated/constants.js";
import type { Kind } from "../generated/job.js";
import { duplicates } from "./duplicates.js";
import { guessKind } from "./kinds.js";
import { keywordScores, mix, normalised, recency, similarities, sum } from "./signals.js";
import { keywords } from "./words.js";

export interface Weights {
  readonly weightVector: number;
  readonly weightRecency: number;
  readonly weightKeyword: number;
  readonly halfLifeDays: number;
}

export interface Place {
  readonly memory: Candidate & { readonly kind: Kind };
  /** Orders this ranking, and means no more. */
  readonly score: number;
  /** How much speaks for it, comparable across questions. */
  readonly evidence: number;
}

export interface Prefiltered {
  /** What goes on to the model, best first, kinds filled in; at most `keep`. */
  readonly kept: readonly Place[];
  /** Ids of all that was left out: low scores, best first, then duplicates in the order given. */
  readonly pruned: readonly string[];
}

/** Rank memories for a query without a model. Ties keep the order given. */
export function prefilter(
  query: string,
  memories: readonly Candidate[],
  options: { now: number; weights: Weights; keep: number; queryEmbedding: readonly number[] | null },
): Prefiltered {
  if (!memories.length) return { kept: [], pruned: [] };
  const { weights } = options;
  const repeated = duplicates(memories);
  const rest = memories.filter((_, place) => !repeated.has(place));
  const signals = [
    similarities(rest, options.queryEmbedding),
    recency(rest, options.now, weights.halfLifeDays),
    keywordScores(query, rest),
  ].map(normalised);
  const scores = mix(signals, [weights.weightVector, weights.weightRecency, weights.weightKeyword]);
  const found = evidence(scores, query, rest);
  const order = rest
    .map((_, place) => place)
    .sort((one, other) => (scores[other] as number) - (scores[one] as number));
  const kept = order.slice(0, options.keep).map((place): Place => {
    const memory = rest[place] as Candidate;
    const kind = memory.kind === "unknown" ? guessKind(memory.text) : memory.kind;
    const [score, proof] = [scores[place] as number, found[place] as number];
    return { memory: { ...memory, kind }, score, evidence: proof };
  });
  const others = order.slice(options.keep).map((place) => (rest[place] as Candidate).id);
  return { kept, pruned: [...others, ...memories.filter((_, at) => repeated.has(at)).map((one) => one.id)] };
}

/** Compile the patterns and open ICU's dictionary, which would cost the first call tens of milliseconds. */
export function warmUp(weights: Weights): void {
  const usual = { createdAt: null, time: null, kind: "unknown", similarity: null, embedding: null } as const;
  const memories = ["User likes tea. 用户喜欢喝茶。", "The user likes tea. 用户喜欢喝茶。"].map((text, at) => {
    return { ...usual, id: String(at), text, truncated: false };
  });
  prefilter("Which tea? 什么茶？", memories, { now: 0, weights, keep: 1, queryEmbedding: null });
}

/** z-score over the candidates plus a weight times the share of the question's terms that a memory holds. */
function evidence(scores: readonly number[], query: string, memories: readonly Candidate[]): number[] {
  const asked = [...keywords(query).counts.keys()];
  const mean = sum(scores) / scores.length;
  const spread = Math.sqrt(sum(scores.map((score) => (score - mean) ** 2)) / scores.length);
  return memories.map((memory, at) => {
    const held = keywords(memory.text).counts;
    const covered = asked.filter((term) => held.has(term)).length / (asked.length || 1);
    const place = spread > PREFILTER.leastSpread ? ((scores[at] as number) - mean) / spread : 0;
    return Math.round((place + PREFILTER.coverageWeight * covered) * 1e6) / 1e6;
  });
}
