/** The three signals of the prefilter: vector similarity, recency, keywords; and how they become one score. */

import type { Candidate } from "../candidate.js";
import { PREFILTER } from "../generated/constants.js";
import { dot, unit } from "./vectors.js";
import { keywords } from "./words.js";

const MS_PER_DAY = 86_400_000;
const DECIMALS = 10 ** PREFILTER.decimals;

/**
 * Similarity of each memory to the query, NaN where there is none. All are of one sort: the sort that more
 * memories have, the cosine when both have as many.
 */
export function similarities(memories: readonly Candidate[], query: readonly number[] | null): number[] {
  const given = memories.map((one) => one.similarity ?? Number.NaN);
  if (query === null) return given;
  const asked = unit(query);
  const cosines = memories.map(({ embedding }) =>
    embedding?.length === query.length ? dot(unit(embedding), asked) : Number.NaN,
  );
  return count(given) > count(cosines) ? given : cosines;
}

/** Exponential decay with age: 1 now and for times to come, 0.5 at the half-life, NaN where unknown. */
export function recency(memories: readonly Candidate[], now: number, halfLifeDays: number): number[] {
  return memories.map(({ time }) =>
    time === null ? Number.NaN : 2 ** (-Math.max(now - time, 0) / MS_PER_DAY / halfLifeDays),
  );
}

/** BM25 of each memory for the query, with the candidates as the collection; idf as in Lucene. */
export function keywordScores(query: string, memories: readonly Candidate[]): number[] {
  const wanted = [...keywords(query).counts.keys()];
  const bags = memories.map((one) => keywords(one.text));
  const mean = sum(bags.map((bag) => bag.length)) / bags.length;
  if (!wanted.length || !mean) return memories.map(() => 0);
  const idf = wanted.map((word) => {
    const holders = bags.filter((bag) => bag.counts.has(word)).length;
    return Math.log1p((bags.length - holders + 0.5) / (holders + 0.5));
  });
  return bags.map((bag) => {
    const norm = PREFILTER.k1 * (1 - PREFILTER.b + (PREFILTER.b * bag.length) / mean);
    return sum(
      wanted.map((word, at) => {
        const found = bag.counts.get(word) ?? 0;
        return ((found * (PREFILTER.k1 + 1)) / (found + norm)) * (idf[at] as number);
      }),
    );
  });
}

/** The signal as z-scores; NaN where it is missing, and everywhere when it tells no two memories apart. */
export function normalised(signal: readonly number[]): number[] {
  const present = signal.filter(Number.isFinite);
  if (!present.length) return [...signal];
  const largest = present.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const values = present.map((value) => value / largest); // in [-1, 1]: squares cannot overflow
  const spread = Math.max(...values) - Math.min(...values);
  if (spread <= PREFILTER.leastSpread) return signal.map(() => Number.NaN);
  const mean = sum(values) / values.length;
  const deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / values.length);
  return signal.map((value) =>
    Number.isFinite(value) ? (value / largest - mean) / deviation : Number.NaN,
  );
}

/** Weighted mean of normalised signals; per memory, the weight of what is missing goes to the rest. */
export function mix(signals: readonly number[][], weights: readonly number[]): number[] {
  return (signals[0] ?? []).map((_, place) => {
    let [total, weight] = [0, 0];
    signals.forEach((signal, at) => {
      const value = signal[place] as number;
      if (!Number.isFinite(value)) return;
      total += value * (weights[at] as number);
      weight += weights[at] as number;
    });
    // Sums of the same numbers may differ in their last bit by where they stand; ties shall be ties.
    return weight > 0 ? Math.round((total / weight) * DECIMALS) / DECIMALS : 0;
  });
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function count(values: readonly number[]): number {
  return values.filter(Number.isFinite).length;
}
