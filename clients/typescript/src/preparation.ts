/** All that happens before a job is sent, free of I/O: the fallback first, then the job and its message. */

import { randomUUID } from "node:crypto";
import type { Candidate } from "./candidate.js";
import type { RerankJob } from "./generated/job.js";
import { byKind } from "./prefilter/kinds.js";
import { type Prefiltered, prefilter } from "./prefilter/prefilter.js";
import { encodeJob } from "./protocol/job.js";
import { buildMessage } from "./protocol/message.js";
import { type Whole, select } from "./protocol/reply.js";
import type { KeyRing } from "./protocol/sealing.js";
import type { Checked } from "./question.js";
import { type Settings, keptFor } from "./settings.js";

export interface Prepared {
  readonly asked: Checked;
  readonly found: Prefiltered;
  /** The prefilter's ranking, which stands ready before anything is sent. */
  readonly fallback: Whole;
}

/** Rank by the prefilter. */
export function prepare(asked: Checked, settings: Settings): Prepared {
  const started = performance.now();
  const found = prefilter(asked.query, asked.candidates, {
    now: asked.nowMs,
    weights: settings,
    keep: keptFor(settings, asked.ranker),
    queryEmbedding: asked.queryEmbedding,
  });
  const ranking = found.kept.map(({ memory, score, evidence }) => ({
    id: memory.id,
    score,
    evidence,
    relevance: null, // the prefilter's calibration is not read here
  }));
  const fallback: Whole = {
    job_id: randomUUID().replaceAll("-", ""),
    ranking,
    source: "prefilter",
    cause: null,
    selected: select(ranking, asked.topK, asked.minRelevance),
    pruned: [...found.pruned],
    reason: null,
    ranker: "",
    model: "",
    prompt_version: "",
    fusion: null,
    timings_ms: { prefilter: performance.now() - started },
    prompt_tokens: 0,
    cached_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    deck: null,
  };
  return { asked, found, fallback };
}

/** The Celery message of a call, with its deadline on the server's clock; throws `JobTooLarge`. */
export function message(
  prepared: Prepared,
  on: { queue: string; replyTo: string; nowMs: number; deadlineMs: number; ring: KeyRing | null },
): string {
  const { asked, found, fallback } = prepared;
  const score = new Map(found.kept.map((place) => [place.memory.id, place.score]));
  const candidates = byKind(found.kept.map((place) => place.memory));
  const job: RerankJob = {
    id: fallback.job_id,
    user: asked.user,
    session: asked.session,
    query: asked.query,
    now: asked.now,
    turns: [...asked.turns],
    activity: [...asked.activity],
    candidates: candidates.map(onWire),
    prior: candidates.map((one) => score.get(one.id) as number),
    top_k: asked.topK,
    min_relevance: asked.minRelevance,
    ranker: asked.ranker,
    deadline: on.deadlineMs / 1e3,
    sent_at: on.nowMs / 1e3,
    reply_to: on.replyTo,
  };
  const encoded = encodeJob(job);
  return buildMessage(job, on.ring?.sealJob(encoded, job.id, on.replyTo) ?? encoded, on.queue);
}

function onWire(one: Candidate): RerankJob["candidates"][number] {
  const { id, text, createdAt, kind, similarity, truncated } = one;
  return { id, text, created_at: createdAt, kind, similarity, truncated };
}
