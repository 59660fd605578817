/** From a prepared call to its answer: may it be sent, send it, wait for it, until its deadline. */

import { type ServerClock, monotonic } from "./clock.js";
import type { Cause } from "./generated/reply.js";
import { type Prepared, message } from "./preparation.js";
import { type Answer, type Whole, ranksAll, select } from "./protocol/reply.js";
import type { KeyRing } from "./protocol/sealing.js";
import type { Admission } from "./queue/admission.js";
import type { Breaker } from "./queue/breaker.js";
import type { Outbox } from "./queue/outbox.js";
import type { Replies } from "./queue/replies.js";

interface Parts {
  readonly queue: string;
  readonly ring: KeyRing | null;
  readonly clock: ServerClock;
  readonly breaker: Breaker;
  readonly admission: Admission;
  readonly outbox: Outbox;
  readonly replies: Replies;
}

/** Gets each call an answer by its deadline, from a worker or from the prefilter. */
export class Answering {
  constructor(private readonly parts: Parts) {}

  /**
   * A ranking by `ends` on the monotonic clock.
   *
   * Throws `JobTooLarge`; rejects with the signal's reason once it is aborted.
   */
  async answer(prepared: Prepared, ends: number, signal: AbortSignal | undefined): Promise<Whole> {
    const { breaker, clock } = this.parts;
    const started = monotonic();
    const leftMs = ends - started;
    const nowMs = clock.now();
    const deadlineMs = nowMs + leftMs;
    const raw = message(prepared, { ...this.parts, nowMs, deadlineMs, replyTo: this.parts.replies.name });
    if (leftMs <= 0) return fallBack(prepared, breaker.away ? "redis_unavailable" : "deadline");
    const admitted = await breaker.admit(leftMs);
    if ("refused" in admitted) return fallBack(prepared, admitted.refused);
    const { probe } = admitted;
    try {
      signal?.throwIfAborted();
      const admits = probe || this.parts.admission.admits(ends - monotonic());
      const result = admits
        ? await this.#ask(prepared, raw, { ends, deadlineMs, signal })
        : fallBack(prepared, "overloaded");
      breaker.record(probe, result.cause, monotonic() - started, leftMs);
      return result;
    } catch (aborted) {
      breaker.giveUp(probe);
      throw aborted;
    }
  }

  /** Send the job and wait for its answer. */
  #ask(
    prepared: Prepared,
    raw: string,
    call: { ends: number; deadlineMs: number; signal: AbortSignal | undefined },
  ): Promise<Whole> {
    const { replies, outbox } = this.parts;
    const jobId = prepared.fallback.job_id;
    return new Promise((resolve, reject) => {
      let taken = false;
      const end = (finish: () => void): void => {
        clearTimeout(timer);
        replies.forget(jobId);
        call.signal?.removeEventListener("abort", aborted);
        finish();
      };
      const late = (): void => {
        // Redis never took the job, or nobody answered it.
        end(() => resolve(fallBack(prepared, taken ? "deadline" : "redis_unavailable")));
      };
      const aborted = (): void => {
        outbox.cancel(jobId, call.deadlineMs);
        end(() => reject(call.signal?.reason));
      };
      const timer = setTimeout(late, Math.max(call.ends - monotonic(), 0));
      call.signal?.addEventListener("abort", aborted, { once: true });
      replies.expect(jobId, (answer) => {
        end(() => resolve(monotonic() > call.ends ? fallBack(prepared, "deadline") : this.#settle(prepared, answer)));
      });
      void outbox.push(raw, call.deadlineMs).then((refused) => {
        taken = refused === null;
        if (refused) end(() => resolve(fallBack(prepared, refused)));
      });
    });
  }

  #settle(prepared: Prepared, answer: Answer): Whole {
    const result = settle(prepared, answer);
    if (result.source === "model" && result.timings_ms.rank) this.parts.admission.answered(result.timings_ms.rank);
    return result;
  }
}

/** A worker's ranking if it ranks exactly this job's candidates, else the fallback. */
export function settle(prepared: Pick<Prepared, "fallback" | "asked">, answer: Answer): Whole {
  const { fallback, asked } = prepared;
  if ("refusal" in answer) return fallBack(prepared, answer.refusal.cause);
  const { result } = answer;
  const candidates = fallback.ranking.map((place) => place.id);
  if (!ranksAll(result.ranking, candidates)) return fallBack(prepared, "invalid_reply");
  return {
    ...result,
    selected: select(result.ranking, asked.topK, asked.minRelevance),
    pruned: fallback.pruned,
    timings_ms: { ...fallback.timings_ms, ...result.timings_ms },
  };
}

/** The prefilter's ranking, with the reason why it has to do. */
export function fallBack(prepared: Pick<Prepared, "fallback">, cause: Cause): Whole {
  return { ...prepared.fallback, cause };
}
