/** One reader per process for the reply list; calls wait by job id. */

import { randomBytes } from "node:crypto";
import { type ServerClock, monotonic } from "../clock.js";
import { BLOCK_S, MEASURE_EVERY_MS } from "../generated/constants.js";
import type { Cause } from "../generated/reply.js";
import { replyKey } from "../protocol/keys.js";
import { type Answer, Unreadable, decodeReply } from "../protocol/reply.js";
import { type KeyRing, clearReply } from "../protocol/sealing.js";
import { type Link, OPEN_WAIT_MS, pauseMs, tell } from "./link.js";

const MAX_PER_POP = 256;

/** The first reply to a job wins; late and foreign ones are dropped. */
export class Replies {
  /** Unguessable: whoever knows the name could read or forge replies. */
  readonly name: string;
  readonly #link: Link;
  readonly #clock: ServerClock;
  readonly #ring: KeyRing | null;
  readonly #warn: (message: string) => void;
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  #measuredAt = -Infinity;
  #told = false;

  constructor(link: Link, queue: string, clock: ServerClock, ring: KeyRing | null, warn: (text: string) => void) {
    this.name = replyKey(queue, randomBytes(16).toString("base64url"));
    this.#link = link;
    this.#clock = clock;
    this.#ring = ring;
    this.#warn = warn;
  }

  /** Call back with this job's reply, once; `forget` ends the wait. */
  expect(jobId: string, answered: (answer: Answer) => void): void {
    this.#waiting.set(jobId, answered);
  }

  /** Stop waiting; a reply that still comes is dropped. */
  forget(jobId: string): void {
    this.#waiting.delete(jobId);
  }

  /** Answer every call in flight with a refusal. */
  refuseAll(cause: Cause): void {
    for (const jobId of this.#waiting.keys()) this.#deliver(jobId, { refusal: { job_id: jobId, cause } });
  }

  /** Read replies until the link is closed, across any fault of Redis. `connected` is called once the clock is known. */
  async run(connected: () => void): Promise<void> {
    await this.#link.opened(OPEN_WAIT_MS);
    for (let faults = 0; !this.#link.isClosed; ) {
      try {
        await this.#measureClock(connected);
        const popped = await this.#link.command("BLMPOP", BLOCK_S, 1, this.name, "LEFT", "COUNT", MAX_PER_POP);
        faults = 0;
        for (const raw of items(popped)) this.#read(raw);
      } catch (fault) {
        if (this.#link.isClosed) return;
        this.#measuredAt = -Infinity;
        if (!this.#told) this.#warn(`Redis is away (${tell(fault)}): answers come from the prefilter`);
        this.#told = true;
        await this.#link.pause(pauseMs(faults++));
      }
    }
  }

  async #measureClock(connected: () => void): Promise<void> {
    const sent = monotonic();
    if (sent - this.#measuredAt < MEASURE_EVERY_MS) return;
    this.#clock.measured((await this.#link.command("TIME")) as [string, string], sent, monotonic());
    this.#measuredAt = sent;
    this.#told = false;
    connected();
  }

  #read(raw: string): void {
    let answer: Answer;
    try {
      answer = decodeReply(this.#ring ? this.#ring.openReply(raw) : clearReply(raw));
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.#warn(`dropped an unreadable reply, its call will fall back at its deadline: ${error.message}`);
      return;
    }
    this.#deliver("result" in answer ? answer.result.job_id : answer.refusal.job_id, answer);
  }

  #deliver(jobId: string, answer: Answer): void {
    const answered = this.#waiting.get(jobId);
    this.#waiting.delete(jobId);
    answered?.(answer);
  }
}

function items(popped: unknown): string[] {
  return Array.isArray(popped) && Array.isArray(popped[1]) ? popped[1].map(String) : [];
}
