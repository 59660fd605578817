/** A worker's reply: read with suspicion, since whoever knows a reply list's name can write to it. */

import { CAUSES, MAX_ID_CHARS, WIRE_VERSION } from "../generated/constants.js";
import type { Cause, DeckUse, Fusion, Ranked, Refusal, RerankResult } from "../generated/reply.js";
import { hasOuterSpace, isClean, length } from "../text.js";

/** What a worker answered; a result with every field filled in. */
export type Answer = { readonly result: Whole } | { readonly refusal: Refusal };
export type Whole = { [name in keyof Required<RerankResult>]: Exclude<RerankResult[name], undefined> };

/** It is no reply that this release reads. The message names the place, never a value. */
export class Unreadable extends Error {
  override name = "Unreadable";
}

type Data = Record<string, unknown>;

/** Read an item of a reply list; throws `Unreadable`. */
export function decodeReply(raw: string): Answer {
  const data = parseObject(raw);
  checkVersion(data);
  if ("refusal" in data) {
    const refusal = object(data.refusal, "refusal");
    return { refusal: { job_id: id(refusal.job_id, "job_id"), cause: oneOf(refusal.cause, CAUSES, "cause") } };
  }
  return { result: result(object(data.result, "result")) };
}

/** The JSON object in a text; throws `Unreadable`. */
export function parseObject(raw: string): Data {
  let data: unknown;
  try {
    data = JSON.parse(raw);
  } catch {
    throw new Unreadable("it is not JSON"); // the parser's own message quotes it
  }
  return object(data, "it");
}

/** Make sure that this release reads a payload's version; throws `Unreadable`. */
export function checkVersion(data: Data): void {
  if ((data.v ?? (("v" in data) ? null : WIRE_VERSION)) !== WIRE_VERSION) {
    throw new Unreadable(`its wire version is not supported, this release reads ${WIRE_VERSION}`);
  }
}

/**
 * Ids of the first `topK` of a ranking whose relevance is not known to be below `minRelevance`.
 */
export function select(ranking: readonly Ranked[], topK: number, minRelevance: number): string[] {
  return ranking
    .filter((place) => (place.relevance ?? null) === null || (place.relevance as number) >= minRelevance)
    .slice(0, topK)
    .map((place) => place.id);
}

/** Whether a ranking holds exactly these candidates, each once. */
export function ranksAll(ranking: readonly Ranked[], candidates: readonly string[]): boolean {
  const ranked = new Set(ranking.map((place) => place.id));
  return ranking.length === candidates.length && candidates.every((one) => ranked.has(one));
}

function result(data: Data): Whole {
  return {
    job_id: id(data.job_id, "job_id"),
    ranking: list(data.ranking, "ranking").map((place, at) => ranked(object(place, "ranking"), `ranking.${at}`)),
    source: oneOf(data.source, ["model", "prefilter"] as const, "source"),
    cause: optional(data.cause, (value) => oneOf<Cause>(value, CAUSES, "cause")),
    selected: optional(data.selected, (value) => ids(value, "selected")),
    pruned: ids(data.pruned ?? [], "pruned"),
    reason: optional(data.reason, (value) => text(value, "reason")),
    ranker: text(data.ranker ?? "", "ranker"),
    model: text(data.model ?? "", "model"),
    prompt_version: text(data.prompt_version ?? "", "prompt_version"),
    fusion: optional(data.fusion, (value) => fusion(object(value, "fusion"))),
    timings_ms: numbers(data.timings_ms ?? {}, "timings_ms"),
    prompt_tokens: whole(data.prompt_tokens ?? 0, "prompt_tokens"),
    cached_tokens: whole(data.cached_tokens ?? 0, "cached_tokens"),
    output_tokens: whole(data.output_tokens ?? 0, "output_tokens"),
    cost_usd: number(data.cost_usd ?? 0, "cost_usd", 0),
    deck: optional(data.deck, (value) => deck(object(value, "deck"))),
  };
}

function ranked(data: Data, place: string): Ranked {
  return {
    id: id(data.id, `${place}.id`),
    score: number(data.score, `${place}.score`),
    evidence: optional(data.evidence, (value) => number(value, `${place}.evidence`)),
    relevance: optional(data.relevance, (value) => number(value, `${place}.relevance`, 0, 1)),
  };
}

function fusion(data: Data): Fusion {
  return {
    weight: number(data.weight, "fusion.weight"),
    prior: numbers(data.prior, "fusion.prior"),
    model: numbers(data.model, "fusion.model"),
  };
}

function deck(data: Data): DeckUse {
  const count = (name: keyof DeckUse): number => whole(data[name], `deck.${name}`);
  return {
    turn: count("turn"),
    memories: count("memories"),
    stale: count("stale"),
    tokens: count("tokens"),
    stale_tokens: count("stale_tokens"),
    expected_tokens: count("expected_tokens"),
    miss: optional(data.miss, (value) => oneOf(value, MISSES, "deck.miss")),
  };
}

const MISSES = ["first_turn", "deck_changed", "other_runtime", "evicted"] as const;

function object(value: unknown, place: string): Data {
  if (typeof value !== "object" || value === null || Array.isArray(value)) wrong(place, "a JSON object");
  return value as Data;
}

function list(value: unknown, place: string): unknown[] {
  return Array.isArray(value) ? value : wrong(place, "a list");
}

function text(value: unknown, place: string): string {
  return typeof value === "string" ? value : wrong(place, "text");
}

function id(value: unknown, place: string): string {
  const found = text(value, place);
  const fits = isClean(found) && !hasOuterSpace(found) && found && length(found) <= MAX_ID_CHARS;
  return fits ? found : wrong(place, "an id");
}

function ids(value: unknown, place: string): string[] {
  return list(value, place).map((one, at) => id(one, `${place}.${at}`));
}

function number(value: unknown, place: string, least = -Infinity, most = Infinity): number {
  const fits = typeof value === "number" && Number.isFinite(value) && value >= least && value <= most;
  return fits ? value : wrong(place, "a number in its range");
}

function whole(value: unknown, place: string): number {
  return Number.isInteger(value) ? number(value, place, 0) : wrong(place, "a whole number");
}

function numbers(value: unknown, place: string): Record<string, number> {
  const entries = Object.entries(object(value, place));
  return Object.fromEntries(entries.map(([name, one]) => [name, number(one, place)]));
}

function oneOf<T extends string>(value: unknown, names: readonly T[], place: string): T {
  return names.find((name) => name === value) ?? wrong(place, "one of the names that this release knows");
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === undefined || value === null ? null : read(value);
}

function wrong(place: string, wanted: string): never {
  throw new Unreadable(`${place} must be ${wanted}`);
}
