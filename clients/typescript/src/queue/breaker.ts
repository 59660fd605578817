/**
 * The circuit breaker as one process sees it: free of I/O, read by every call at no cost.
 *
 * It opens when so many calls have failed that were sent since the model last answered anybody. The numbers that
 * trip it are shared by all frontends in whatever language. While Redis is away it is open here.
 */

import { randomBytes } from "node:crypto";
import { type ServerClock, monotonic } from "../clock.js";
import { BREAKER, FAILURES, IMPATIENCE } from "../generated/constants.js";
import type { Cause } from "../generated/reply.js";
import type { Settings } from "../settings.js";
import { type Ended, type Reading, Tally, UNREAD } from "./breaker-state.js";
import { Waking } from "./waking.js";

// What says that the way to the model is broken.
const failures: ReadonlySet<string> = new Set(FAILURES);
// Of these a call with too little time says nothing: a patient one might have been answered.
const impatience: ReadonlySet<string> = new Set(IMPATIENCE);
const NO_PROBE: Ended = { token: "", how: "" };

/** A call that would like to be the probe. */
export interface Claim {
  readonly token: string;
  readonly patienceMs: number;
  /** Null once nobody waits for the answer any more. */
  answer: ((granted: boolean) => void) | null;
}

export class Breaker {
  reading: Reading = UNREAD;
  /** Redis does not answer; true until it first does. */
  away = true;
  /** Set when there is something to report at once. */
  readonly wake = new Waking();
  readonly #settings: Settings;
  readonly #clock: ServerClock;
  #tally = new Tally();
  #told = new Tally(); // what is on its way to Redis
  #ended = NO_PROBE;
  #claim: Claim | null = null;
  #recent: number[] = [];
  #batchMs = 0;
  #askedAt = -Infinity;

  constructor(settings: Settings, clock: ServerClock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Whether calls fall back at once. */
  get isOpen(): boolean {
    return this.reading.open || this.#run() >= this.#settings.breakerFailures;
  }

  /** Whether it is half way to opening, so that news matters. */
  get isAnxious(): boolean {
    return !this.reading.open && this.#run() * 2 >= this.#settings.breakerFailures;
  }

  /** Milliseconds since the last call. */
  get idleMs(): number {
    return monotonic() - this.#askedAt;
  }

  /** What an answer needs: the median of the recent ones, at least the workers' batch time; 0 without workers. */
  get usualMs(): number {
    if (!this.reading.workers.length) return 0;
    const here = this.#recent.toSorted((one, other) => one - other)[Math.floor(this.#recent.length / 2)] ?? 0;
    return Math.max(here, this.#batchMs) || BREAKER.unknownAnswerMs;
  }

  /** May this call be sent? The token of the probe that it is, empty for an ordinary call; or why not. */
  async admit(leftMs: number): Promise<{ probe: string } | { refused: Cause }> {
    this.#askedAt = monotonic();
    if (this.away) return { refused: "redis_unavailable" };
    if (!this.isOpen) return { probe: "" };
    if (this.#claim || !this.#probeIsDue(leftMs)) return { refused: "breaker_open" };
    const probe = await this.#beProbe(leftMs);
    return probe ? { probe } : { refused: "breaker_open" };
  }

  /** Tell how an admitted call ended, whatever happened: the cause of its fallback, null for an answer. */
  record(probe: string, cause: Cause | null, tookMs: number, hadMs: number): void {
    const [answered, failed] = [cause === null, cause !== null && failures.has(cause)];
    const slow = tookMs > this.#settings.breakerP99Ms;
    if (answered) this.#recent = [...this.#recent, tookMs].slice(-BREAKER.recent);
    if (probe) {
      this.#ended = { token: probe, how: answered && !slow ? "ok" : answered || failed ? "failed" : "void" };
      this.wake.set();
    } else if (this.reading.open || this.away) {
      return; // what was sent before it opened says nothing new, and without Redis nothing about workers
    } else if (answered) {
      this.#tally.answered(this.#clock.now(), slow);
      if (this.reading.failures) this.wake.set();
    } else if (failed && !(impatience.has(cause ?? "") && hadMs < this.usualMs)) {
      const sentAt = this.#clock.now() - tookMs;
      if (sentAt > Math.max(this.#tally.answeredAt, this.#told.answeredAt, this.reading.answeredAt)) {
        this.#tally.failed.push(sentAt);
        this.wake.set();
      }
    }
  }

  /** A call was aborted; another may be the probe in its place. */
  giveUp(probe: string): void {
    this.record(probe, "closed", 0, Infinity);
  }

  /** What is to be told now: outcomes, a probe that ended, one that would be sent. Tells it once. */
  report(): { tally: Tally; ended: Ended; claim: Claim | null } {
    const [tally, ended] = [this.#tally, this.#ended];
    this.#told = tally;
    this.#tally = new Tally();
    this.#ended = NO_PROBE;
    this.wake.clear();
    return { tally, ended, claim: this.#claim };
  }

  /** Take over the answer to a `report`. */
  learn(reading: Reading, claim: Claim | null): void {
    this.away = false;
    this.reading = reading;
    this.#told = new Tally();
    if (reading.open) this.#tally = new Tally();
    this.#answer(claim, reading.granted);
  }

  /** What the workers say that their batches take; 0 when they do not know. */
  learnBatchMs(batchMs: number): void {
    this.#batchMs = batchMs;
  }

  /** Redis is away: what happened here says something about the link, not about workers. */
  lost(): void {
    this.away = true;
    this.#tally = new Tally();
    this.#told = new Tally();
    this.#ended = NO_PROBE;
    this.#answer(this.#claim, false);
  }

  #run(): number {
    return this.#tally.run(this.#told.run(this.reading.failures));
  }

  #probeIsDue(leftMs: number): boolean {
    const now = this.#clock.now();
    // One with too little time would fail anyhow: it goes when for an interval no other came.
    const due = this.reading.nextProbe + (leftMs < this.usualMs ? this.#settings.breakerProbeMs : 0);
    return this.reading.open && now >= due && now >= this.reading.probeUntil;
  }

  async #beProbe(leftMs: number): Promise<string> {
    const token = randomBytes(8).toString("hex");
    const granted = await new Promise<boolean>((resolve) => {
      const claim: Claim = { token, patienceMs: leftMs + BREAKER.probeGraceMs, answer: resolve };
      this.#claim = claim;
      this.wake.set();
      setTimeout(() => {
        // An answer that still comes is given back in `#answer`.
        claim.answer = null;
        if (this.#claim === claim) this.#claim = null;
        resolve(false);
      }, Math.min(BREAKER.claimWaitMs, leftMs));
    });
    return granted ? token : "";
  }

  #answer(claim: Claim | null, granted: boolean): void {
    if (!claim) return;
    if (this.#claim === claim) this.#claim = null;
    if (claim.answer) claim.answer(granted);
    else if (granted) this.giveUp(claim.token);
    claim.answer = () => undefined;
  }
}
