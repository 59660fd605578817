/** The arguments of one `rerank()` call, checked at the door. Errors name the place, never the text. */

import type { Candidate } from "./candidate.js";
import { InvalidInput } from "./errors.js";
import {
  ANONYMOUS,
  DEFAULT_SESSION,
  KINDS,
  MAX_ACTIVITY,
  MAX_CANDIDATES,
  MAX_DEADLINE_MS,
  MAX_ID_CHARS,
  MAX_MEMORY_CHARS,
  MAX_TURNS,
} from "./generated/constants.js";
import type { Kind, Turn } from "./generated/job.js";
import { clean, cut, hasOuterSpace, isBlank, isClean, length } from "./text.js";
import { instant } from "./time.js";

/** One memory as recall hands it over. */
export interface Memory {
  /** Unique within the call. */
  readonly id: string;
  /** Over 2,000 characters it is cut at a sentence. */
  readonly text: string;
  /** When it was learned; ISO 8601 with a time zone, a `Date`, or null where nobody knows. */
  readonly createdAt: Date | string | null;
  /** Unset or `unknown`: guessed from the text. */
  readonly kind?: Kind | undefined;
  /** What the vector store said, on any scale. */
  readonly similarity?: number | null | undefined;
  /** Instead of it, with `queryEmbedding`; never leaves this process. */
  readonly embedding?: readonly number[] | null | undefined;
}

export interface Question {
  readonly query: string;
  /** What recall found, at most 200. */
  readonly memories: readonly Memory[];
  /** Whose memories these are; keeps one user's prefix cache apart from another's. */
  readonly user?: string | undefined;
  /** The conversation; its later questions reuse its cached prompt. */
  readonly session?: string | undefined;
  /** The conversation before the question, oldest first. */
  readonly turns?: readonly Turn[] | undefined;
  /** Short recent events, such as "opened the calendar", oldest first. */
  readonly activity?: readonly string[] | undefined;
  /** How many memories the prompt holds. */
  readonly topK?: number | undefined;
  /** Leave out what is known to be less probably relevant, 0 to 1. */
  readonly minRelevance?: number | undefined;
  /** Milliseconds from now by which `rerank` answers. */
  readonly deadlineMs?: number | undefined;
  /** When the question was asked; as text it carries the user's time zone. Unset: now, in UTC. */
  readonly now?: Date | string | undefined;
  /** Another ranker than the worker's default. */
  readonly ranker?: string | undefined;
  /** The question's vector, for memories that carry an embedding. */
  readonly queryEmbedding?: readonly number[] | null | undefined;
  /** Aborted, `rerank` rejects with its reason, and no model time is spent on the job. */
  readonly signal?: AbortSignal | undefined;
}

export interface Checked {
  readonly query: string;
  readonly candidates: readonly Candidate[];
  readonly user: string;
  readonly session: string;
  readonly turns: readonly Turn[];
  readonly activity: readonly string[];
  readonly topK: number;
  readonly minRelevance: number;
  readonly deadlineMs: number;
  readonly now: string;
  readonly nowMs: number;
  readonly ranker: string | null;
  readonly queryEmbedding: readonly number[] | null;
}

interface Defaults {
  readonly topK: number;
  readonly minRelevance: number;
  readonly deadlineMs: number;
}

/** Whose memories are to be forgotten, and which; throws `InvalidInput`. */
export function checkForgetting(given: { user: string; memories: readonly string[] }): void {
  id(given.user, "user");
  list(given.memories, "memories").forEach((one, at) => id(one, `memories.${at}`));
}

/** Check and clean them; throws `InvalidInput`. */
export function check(question: Question, defaults: Defaults): Checked {
  const deadlineMs = question.deadlineMs ?? defaults.deadlineMs;
  if (!(typeof deadlineMs === "number" && deadlineMs > 0 && deadlineMs <= MAX_DEADLINE_MS)) {
    wrong("deadlineMs", `must be milliseconds from now, above 0 and at most ${MAX_DEADLINE_MS}`);
  }
  const query = shortText(question.query, "query");
  if (isBlank(query)) wrong("query", "must not be blank");
  const ranker = question.ranker ?? null;
  if (ranker !== null && (typeof ranker !== "string" || length(ranker) > 64)) {
    wrong("ranker", "must be a name of 64 characters at most");
  }
  const topK = number(question.topK ?? defaults.topK, "topK", 1, MAX_CANDIDATES);
  if (!Number.isInteger(topK)) wrong("topK", "must be a whole number");
  const [now, nowMs] = instant(question.now ?? new Date(), "now");
  const embedding = question.queryEmbedding ?? null;
  if (embedding && !vector(embedding, "queryEmbedding").length) wrong("queryEmbedding", "must not be empty");
  return {
    query,
    candidates: candidates(question.memories),
    user: id(question.user ?? ANONYMOUS, "user"),
    session: id(question.session ?? DEFAULT_SESSION, "session"),
    turns: list(question.turns ?? [], "turns").map(turn).slice(-MAX_TURNS),
    activity: list(question.activity ?? [], "activity")
      .map((one, at) => shortText(one, `activity.${at}`))
      .slice(-MAX_ACTIVITY),
    topK,
    minRelevance: number(question.minRelevance ?? defaults.minRelevance, "minRelevance", 0, 1),
    deadlineMs,
    now,
    nowMs,
    ranker,
    queryEmbedding: embedding,
  };
}

function candidates(memories: readonly Memory[]): Candidate[] {
  if (list(memories, "memories").length > MAX_CANDIDATES) {
    wrong("memories", `must be at most ${MAX_CANDIDATES}`);
  }
  const checked = memories.map(candidate);
  if (new Set(checked.map((one) => one.id)).size < checked.length) wrong("memories", "ids must be unique");
  return checked;
}

function candidate(memory: Memory, at: number): Candidate {
  const place = `memories.${at}`;
  if (typeof memory !== "object" || memory === null) wrong(place, "must be an object");
  if (typeof memory.text !== "string") wrong(`${place}.text`, "must be a string");
  const [text, truncated] = cut(clean(memory.text), MAX_MEMORY_CHARS);
  if (isBlank(text)) wrong(`${place}.text`, "must not be blank");
  const kind = memory.kind ?? "unknown";
  if (!KINDS.includes(kind)) wrong(`${place}.kind`, `must be one of ${KINDS.join(", ")}`);
  const similarity = memory.similarity ?? null;
  const known = memory.createdAt === null ? null : instant(memory.createdAt, `${place}.createdAt`, "or null");
  return {
    id: id(memory.id, `${place}.id`),
    text,
    createdAt: known?.[0] ?? null,
    time: known?.[1] ?? null,
    kind,
    similarity: similarity === null ? null : number(similarity, `${place}.similarity`),
    embedding: memory.embedding ? vector(memory.embedding, `${place}.embedding`) : null,
    truncated,
  };
}

function turn(given: Turn, at: number): Turn {
  const place = `turns.${at}`;
  if (typeof given !== "object" || given === null) wrong(place, "must be an object");
  if (given.role !== "user" && given.role !== "assistant") wrong(`${place}.role`, "must be user or assistant");
  return { role: given.role, text: shortText(given.text, `${place}.text`) };
}

function shortText(value: unknown, place: string): string {
  if (typeof value !== "string") wrong(place, "must be a string");
  return cut(clean(value), MAX_MEMORY_CHARS)[0];
}

function id(value: unknown, place: string): string {
  if (typeof value !== "string" || !value || length(value) > MAX_ID_CHARS) {
    wrong(place, `must be a string of 1 to ${MAX_ID_CHARS} characters`);
  }
  if (!isClean(value) || hasOuterSpace(value)) {
    wrong(place, "must not hold control characters, lone surrogates or outer spaces");
  }
  return value;
}

function number(value: unknown, place: string, least = -Infinity, most = Infinity): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= least && value <= most) return value;
  return wrong(place, least === -Infinity ? "must be a finite number" : `must be from ${least} to ${most}`);
}

function vector(value: readonly number[], place: string): readonly number[] {
  list(value, place).forEach((one) => number(one, place));
  return value;
}

function list<T>(value: readonly T[], place: string): readonly T[] {
  return Array.isArray(value) ? value : wrong(place, "must be an array");
}

function wrong(place: string, why: string): never {
  throw new InvalidInput(`${place}: ${why}`);
}
