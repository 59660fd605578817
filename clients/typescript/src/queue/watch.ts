/** Keeps this process's copy of the shared state fresh, and tells when it changes. */

import { type ServerClock, monotonic } from "../clock.js";
import { SOCKET_TIMEOUT_MS } from "../generated/constants.js";
import { ownKey, workerKey } from "../protocol/keys.js";
import type { Settings } from "../settings.js";
import type { Admission } from "./admission.js";
import type { Breaker } from "./breaker.js";
import { type Reading, exchange } from "./breaker-state.js";
import { type Card, readCard } from "./cards.js";
import { type Link, OPEN_WAIT_MS, pauseMs } from "./link.js";

// How old the copy may be while calls come, while none do, and when the breaker may open any moment.
const POLL_MS = 100;
const IDLE_POLL_MS = 1_000;
const ANXIOUS_POLL_MS = 10;
// Calls come while the last one is younger than this.
const IDLE_AFTER_MS = 1_000;
// Workers write their cards once a second.
const CARDS_EVERY_MS = 1_000;

/** The breaker opened or closed. */
export interface BreakerChange {
  readonly open: boolean;
  /** Why it opened: `failures` or `slow`; `redis` when this process lost Redis. */
  readonly reason: string;
  /** This process flipped it; over all processes one says so, except for `redis`. */
  readonly ours: boolean;
}

/** One of the lists that workers drain beside the queue, and the card of such a worker. */
export interface OwnList {
  readonly key: string;
  readonly card: string;
}

export class Watch {
  /** All own lists that are drained now. */
  own: readonly OwnList[] = [];
  #shown: BreakerChange = { open: false, reason: "", ours: false };
  #cardsAt = -Infinity;

  constructor(
    private readonly link: Link,
    private readonly settings: Settings,
    private readonly parts: { breaker: Breaker; admission: Admission; clock: ServerClock },
    private readonly onBreaker: (change: BreakerChange) => void,
  ) {}

  /** Go on until the link is closed, across any fault of Redis. `present` is called whenever Redis has answered. */
  async run(present: () => void): Promise<void> {
    await this.link.opened(OPEN_WAIT_MS);
    for (let faults = 0; !this.link.isClosed; ) {
      try {
        await this.#once();
        faults = 0;
        present();
        await this.parts.breaker.wake.wait(this.#restMs());
      } catch {
        if (this.link.isClosed) return;
        this.parts.breaker.lost();
        this.#change({ open: true, reason: "redis", ours: true });
        await this.link.pause(pauseMs(faults++));
      }
    }
  }

  /** One round trip; a second one for the workers' cards, once a second. */
  async #once(): Promise<void> {
    const { breaker, admission, clock } = this.parts;
    const { tally, ended, claim } = breaker.report();
    const wanted = claim?.answer ? claim : null;
    const reading = await within(
      SOCKET_TIMEOUT_MS,
      exchange(this.link, this.settings, clock.now(), {
        tally,
        ended,
        wanted: wanted?.token ?? "",
        patienceMs: wanted?.patienceMs ?? 0,
        own: this.own.map((one) => one.key),
      }),
    );
    breaker.learn(reading, claim);
    admission.learn(reading);
    this.#change({ open: reading.open, reason: reading.reason, ours: reading.flipped !== "" });
    if (monotonic() - this.#cardsAt < CARDS_EVERY_MS) return;
    this.#cardsAt = monotonic();
    const cards = await this.#cards(reading);
    admission.learnCards(cards);
    breaker.learnBatchMs(admission.batchMs);
    const drained = new Map(cards.filter((one) => one.runtime).map((one) => [one.runtime, one.key]));
    this.own = [...drained].map(([runtime, card]) => ({ key: ownKey(this.settings.queue, runtime), card }));
  }

  async #cards(reading: Reading): Promise<Card[]> {
    const keys = reading.workers.map((name) => workerKey(this.settings.queue, name));
    if (!keys.length) return [];
    const found = (await within(SOCKET_TIMEOUT_MS, this.link.command("MGET", ...keys))) as unknown[];
    return keys.map((key, at) => readCard(key, found[at]));
  }

  #restMs(): number {
    const { breaker } = this.parts;
    if (breaker.idleMs > IDLE_AFTER_MS) return IDLE_POLL_MS;
    return breaker.isAnxious ? ANXIOUS_POLL_MS : POLL_MS;
  }

  #change(change: BreakerChange): void {
    if (change.open === this.#shown.open && change.reason === this.#shown.reason) return;
    this.#shown = change;
    this.onBreaker(change);
  }
}

/** A promise that is not waited for any longer than this. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer in time")), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
