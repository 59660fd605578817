/** Whether a job can still make its deadline behind those that wait: one cheap look at cached numbers. */

import type { ServerClock } from "../clock.js";
import { ADMISSION } from "../generated/constants.js";
import type { Reading, Waiting } from "./breaker-state.js";
import { type Card, throughput } from "./cards.js";

/**
 * With the workers' own throughput the wait is depth / throughput; a list whose oldest job has waited for longer
 * shows a worker that has stopped. On top come the batch that is being ranked and the job's own. With no worker
 * present nothing is refused, and the breaker finds out.
 */
export class Admission {
  /** What the workers say that their batches take; 0 when they do not know. */
  batchMs = 0;
  readonly #clock: ServerClock;
  #depth = 0;
  #ageMs = 0;
  #staffed = false;
  #readAt = -Infinity;
  #jobsPerS = 0;
  #serviceMs = 0;

  constructor(clock: ServerClock) {
    this.#clock = clock;
  }

  /** Take over depths and ages; before a job in the queue all others are served, those in own lists too. */
  learn(reading: Reading): void {
    const now = this.#clock.now();
    this.#depth = reading.waiting.reduce((sum, one) => sum + one.depth, 0);
    this.#ageMs = reading.waiting[0] ? ageMs(reading.waiting[0], now) : 0;
    this.#staffed = reading.workers.length > 0;
    this.#readAt = now;
  }

  learnCards(cards: readonly Card[]): void {
    this.#jobsPerS = throughput(cards);
    this.batchMs = Math.max(0, ...cards.map((card) => card.batchMs));
  }

  /** Redis told how many jobs wait now. */
  pushed(depth: number): void {
    this.#depth = depth;
  }

  /** A worker answered and told how long it ranked. */
  answered(rankMs: number): void {
    this.#serviceMs += (rankMs - this.#serviceMs) * (this.#serviceMs ? ADMISSION.smoothing : 1);
  }

  /** Whether a job with so many milliseconds left is worth sending. */
  admits(leftMs: number): boolean {
    return this.#expectedMs() < leftMs;
  }

  #expectedMs(): number {
    if (!this.#staffed || this.#clock.now() - this.#readAt > ADMISSION.freshMs || !this.#depth) return 0;
    const byRate = this.#jobsPerS ? (this.#depth / this.#jobsPerS) * 1e3 : 0;
    const batch = Math.max(this.batchMs, this.#serviceMs);
    return Math.max(byRate, this.#ageMs) + ADMISSION.batchesBehind * batch;
  }
}

/** What lies in the queue for long after its deadline is no load: nobody takes anything. */
function ageMs(waiting: Waiting, now: number): number {
  const { oldestSentAt: sent, oldestExpiresAt: expires } = waiting;
  if (sent === null || (expires !== null && now - expires >= ADMISSION.expiredMs)) return 0;
  return Math.max(now - sent, 0);
}
