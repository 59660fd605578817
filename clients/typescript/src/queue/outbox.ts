/** Enqueueing, and marks for jobs whose caller went away. */

import type { ServerClock } from "../clock.js";
import { QUEUE_TTL_MS } from "../generated/constants.js";
import type { Cause } from "../generated/reply.js";
import { PUSH } from "../generated/scripts.js";
import { cancelKey } from "../protocol/keys.js";
import type { Settings } from "../settings.js";
import type { Admission } from "./admission.js";
import type { Link } from "./link.js";
import type { Watch } from "./watch.js";

// Its place in the script's arguments: whoever is free takes the job.
const THE_QUEUE = 0;

export class Outbox {
  constructor(
    private readonly link: Link,
    private readonly settings: Settings,
    private readonly parts: { watch: Watch; admission: Admission; clock: ServerClock },
  ) {}

  /** Push one message, unless `queueMax` jobs wait in all lists. Null once Redis has it, else why not. */
  async push(message: string, deadlineMs: number): Promise<Cause | null> {
    const { watch, admission, clock } = this.parts;
    const own = watch.own;
    const ttl = Math.trunc(Math.max(deadlineMs - clock.now(), 0) + QUEUE_TTL_MS);
    const keys = [this.settings.queue, ...own.flatMap((one) => [one.key, one.card])];
    const limits = own.map(() => 0); // of each own list, where nothing is pushed
    try {
      const told = await this.link.script(
        PUSH,
        keys,
        this.settings.queueMax,
        ttl,
        ...limits,
        THE_QUEUE,
        message,
      );
      const [fitted, ...depths] = told as number[];
      admission.pushed(depths.reduce((sum, depth) => sum + depth, 0));
      return fitted ? null : "queue_full";
    } catch {
      return "redis_unavailable";
    }
  }

  /** Tell workers to drop this job. Best effort: a mark that is lost costs model time, no answer. */
  cancel(jobId: string, deadlineMs: number): void {
    const left = Math.trunc(deadlineMs - this.parts.clock.now());
    if (left <= 0) return; // the worker drops it anyway
    this.link.command("SET", cancelKey(this.settings.queue, jobId), 1, "PX", left).catch(() => undefined);
  }
}
