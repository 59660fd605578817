/** The face of the client: `await reranker.rerank(...)` resolves to a ranking by the deadline, always. */

import { Answering, fallBack } from "./answering.js";
import { ServerClock, monotonic } from "./clock.js";
import { type Prepared, prepare } from "./preparation.js";
import { warmUp } from "./prefilter/prefilter.js";
import type { Whole } from "./protocol/reply.js";
import { KeyRing } from "./protocol/sealing.js";
import { Admission } from "./queue/admission.js";
import { Breaker } from "./queue/breaker.js";
import { Link, OPEN_WAIT_MS } from "./queue/link.js";
import { Outbox } from "./queue/outbox.js";
import { Replies } from "./queue/replies.js";
import { Watch } from "./queue/watch.js";
import { forget } from "./queue/forgetting.js";
import { type Question, check, checkForgetting } from "./question.js";
import { Reranking } from "./reranking.js";
import { type Options, type Settings, readSettings } from "./settings.js";

/**
 * Asks the workers to rank memories. Use one per process, for any number of calls at once.
 *
 * It holds two connections, opened at once and in the background: one enqueues and watches the state that all
 * frontends share, one reads this process's reply list.
 */
export class Reranker {
  readonly settings: Settings;
  readonly #clock = new ServerClock();
  readonly #links: readonly [Link, Link];
  readonly #replies: Replies;
  readonly #breaker: Breaker;
  readonly #answering: Answering;
  #opened: Promise<void> | null;
  #closed = false;

  /** Throws `SettingsError`; never fails because Redis is away. */
  constructor(options: Options = {}) {
    this.settings = readSettings(options);
    warmUp(this.settings);
    const ring = this.settings.sealKeys ? new KeyRing(this.settings.sealKeys) : null;
    const warn = quietly(options.onWarning ?? ((text) => process.emitWarning(text, "MemsiftWarning")));
    const pushes = new Link(this.settings.url, options.tls);
    const pops = new Link(this.settings.url, options.tls);
    this.#links = [pushes, pops];
    const clock = this.#clock;
    const breaker = new Breaker(this.settings, clock);
    const admission = new Admission(clock);
    const watch = new Watch(pushes, this.settings, { breaker, admission, clock }, quietly(options.onBreaker));
    this.#replies = new Replies(pops, this.settings.queue, clock, ring, warn);
    const outbox = new Outbox(pushes, this.settings, { watch, admission, clock });
    const { queue } = this.settings;
    this.#breaker = breaker;
    this.#answering = new Answering({ queue, ring, clock, breaker, admission, outbox, replies: this.#replies });
    const ready = Promise.all([
      new Promise<void>((resolve) => void this.#replies.run(resolve)),
      new Promise<void>((resolve) => void watch.run(resolve)),
    ]);
    this.#opened = soon(ready, OPEN_WAIT_MS).then(() => {
      this.#opened = null;
    });
  }

  /** Whether Redis answers, after waiting for it a second at most. */
  async ready(): Promise<boolean> {
    await this.#opened;
    return !this.#breaker.away;
  }

  /**
   * Rank memories for one question: the model's ranking, or the prefilter's with the cause. Resolves by the
   * deadline. Rejects with `InvalidInput` when an argument is wrong, with `signal.reason` when it is aborted;
   * operational faults never reject.
   */
  async rerank(question: Question): Promise<Reranking> {
    const started = monotonic();
    question.signal?.throwIfAborted();
    const asked = check(question, this.settings);
    const prepared = prepare(asked, this.settings);
    const result = await this.#answer(prepared, started + asked.deadlineMs, question.signal);
    const texts = new Map(asked.candidates.map((one) => [one.id, one.text]));
    const memories = new Map(question.memories.map((one) => [one.id, one]));
    const timings = { ...result.timings_ms, total: monotonic() - started };
    return new Reranking({ ...result, timings_ms: timings }, prepared.fallback, texts, memories);
  }

  /**
   * Take memories out of all prompts that workers keep for a user's sessions. Call it when the user deletes or
   * edits a memory. Rejects with `NotForgotten` when Redis could not be told: call again.
   */
  async forget(given: { user: string; memories: readonly string[] }): Promise<void> {
    checkForgetting(given);
    if (!given.memories.length) return;
    await this.ready();
    await forget(this.#links[0], this.settings.queue, given.user, given.memories);
  }

  /** Answer every call in flight with its fallback and close both connections. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#replies.refuseAll("closed");
    for (const link of this.#links) link.close();
    this.#breaker.wake.set();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #answer(prepared: Prepared, ends: number, signal: AbortSignal | undefined): Promise<Whole> {
    if (!prepared.asked.candidates.length) return fallBack(prepared, "no_candidates");
    if (this.#opened && !this.#closed) await soon(this.#opened, ends - monotonic());
    signal?.throwIfAborted();
    if (this.#closed) return fallBack(prepared, "closed");
    return this.#answering.answer(prepared, ends, signal);
  }
}

/** A hook that raises must not stop the background work. */
function quietly<T>(hook: ((told: T) => void) | undefined): (told: T) => void {
  return (told) => {
    try {
      hook?.(told);
    } catch {
      // its owner's business
    }
  };
}

/** Wait for a promise, but not longer than this. */
async function soon(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, limit]);
  clearTimeout(timer);
}
