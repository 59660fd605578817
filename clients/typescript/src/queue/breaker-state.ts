/** The breaker's state that all frontends share: one hash on Redis, changed by one script. Times in Unix ms. */

import { BREAKER } from "../generated/constants.js";
import { BREAKER_SCRIPT } from "../generated/scripts.js";
import { breakerKey, workersKey } from "../protocol/keys.js";
import type { Settings } from "../settings.js";
import type { Link } from "./link.js";

/** Outcomes since the last report, as far as a breaker cares. */
export class Tally {
  answers = 0;
  slow = 0;
  /** When the last answer came; 0 for none. */
  answeredAt = 0;
  /** When each call that failed was sent, of those sent after that. */
  failed: number[] = [];

  answered(now: number, slow: boolean): void {
    this.answers += 1;
    this.slow += slow ? 1 : 0;
    this.answeredAt = now;
    this.failed = [];
  }

  /** Failures since the last answer, `before` of them before this tally began. */
  run(before: number): number {
    return this.failed.length + (this.answers ? 0 : before);
  }
}

/** How a probe went: `void` when it told nothing. */
export type Ended = { readonly token: string; readonly how: "ok" | "failed" | "void" | "" };

/** What waits in one list; times are null for an empty list, or where the oldest item is no job of ours. */
export interface Waiting {
  readonly depth: number;
  readonly oldestSentAt: number | null;
  readonly oldestExpiresAt: number | null;
}

/** What one round trip told. */
export interface Reading {
  readonly open: boolean;
  /** Failed calls of those sent since the last answer, over all processes; at most the limit. */
  readonly failures: number;
  /** From when on a probe may be sent. */
  readonly nextProbe: number;
  /** Until when a probe that is out is waited for; 0 for none. */
  readonly probeUntil: number;
  /** `opened` or `closed` when this very round trip did it. */
  readonly flipped: string;
  /** The wanted probe may be sent. */
  readonly granted: boolean;
  /** Why it is open: `failures` or `slow`. */
  readonly reason: string;
  readonly answeredAt: number;
  /** Hostnames of the workers that are present. */
  readonly workers: readonly string[];
  /** What waits in the queue, then in each own list. */
  readonly waiting: readonly Waiting[];
}

export const UNREAD: Reading = {
  open: false,
  failures: 0,
  nextProbe: 0,
  probeUntil: 0,
  flipped: "",
  granted: false,
  reason: "",
  answeredAt: 0,
  workers: [],
  waiting: [],
};

/** Tell what happened and learn the state; rejects while Redis is away. */
export async function exchange(
  link: Link,
  settings: Settings,
  now: number,
  report: { tally: Tally; ended: Ended; wanted: string; patienceMs: number; own: readonly string[] },
): Promise<Reading> {
  const { tally, ended } = report;
  const answer = await link.script(
    BREAKER_SCRIPT,
    [breakerKey(settings.queue), workersKey(settings.queue), settings.queue, ...report.own],
    now.toFixed(0),
    settings.breakerFailures,
    settings.breakerProbeMs,
    Math.floor((settings.breakerWindowS * 1e3) / BREAKER.slices),
    now / 1e3 - BREAKER.workerLivesS,
    BREAKER.staleMs,
    tally.answers,
    tally.slow,
    tally.answeredAt.toFixed(0),
    tally.failed
      .toSorted((one, other) => one - other)
      .slice(-settings.breakerFailures)
      .map((sent) => sent.toFixed(0))
      .join(","),
    ended.token,
    ended.how,
    report.wanted,
    report.patienceMs.toFixed(0),
  );
  return read(answer as unknown[]);
}

function read(answer: readonly unknown[]): Reading {
  const [open, failures, nextProbe, probeUntil, flipped, granted, reason, answeredAt, workers, waiting] = answer;
  return {
    open: Boolean(open),
    failures: Number(failures),
    nextProbe: Number(nextProbe),
    probeUntil: Number(probeUntil),
    flipped: String(flipped),
    granted: Boolean(granted),
    reason: String(reason),
    answeredAt: Number(answeredAt),
    workers: (workers as unknown[]).map(String),
    waiting: (waiting as [number, string, string][]).map(([depth, sent, expires]) => {
      const expiresAt = Date.parse(expires);
      const known = Number.isFinite(expiresAt);
      return {
        depth: Number(depth),
        oldestSentAt: known ? Number(sent) * 1e3 : null,
        oldestExpiresAt: known ? expiresAt : null,
      };
    }),
  };
}
