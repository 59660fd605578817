/** The Celery protocol-2 message around a job. */

import { hostname } from "node:os";
import type { RerankJob } from "../generated/job.js";

const TASK_NAME = "memsift.rerank";
// It must begin so: Flower shows the counts of our own messages, and nothing of others.
const ORIGIN = `memsift-${process.pid}@${hostname()}`;
const EMBED = '{"callbacks":null,"errbacks":null,"chain":null,"chord":null}';

/**
 * A complete message, ready to be pushed on the list `queue`.
 *
 * Frontends read the headers `expires` and `sent_at` of the oldest waiting message by a pattern: the body stands
 * before the headers, the one directly before the other.
 *
 * @param job for the headers.
 * @param argument the same job by `encodeJob`, or sealed.
 */
export function buildMessage(job: RerankJob, argument: string, queue: string): string {
  return JSON.stringify({
    body: `[[],{"job":${argument}},${EMBED}]`,
    "content-encoding": "utf-8",
    "content-type": "application/json",
    headers: {
      ...job.trace,
      lang: "js",
      task: TASK_NAME,
      id: job.id,
      root_id: job.id,
      parent_id: null,
      group: null,
      retries: 0,
      eta: null,
      expires: new Date(job.deadline * 1e3).toISOString().replace("Z", "+00:00"),
      sent_at: job.sent_at ?? null,
      timelimit: [null, null],
      argsrepr: "()",
      kwargsrepr: describe(job),
      origin: ORIGIN,
      ignore_result: true,
    },
    properties: {
      correlation_id: job.id,
      reply_to: job.reply_to ?? "",
      delivery_mode: 2,
      delivery_info: { exchange: "", routing_key: queue },
      priority: 0,
      delivery_tag: job.id,
      body_encoding: null,
    },
  });
}

/** What Flower may show of a job: counts alone. */
function describe(job: RerankJob): string {
  return `{candidates: ${job.candidates.length}, turns: ${job.turns?.length ?? 0}, top_k: ${job.top_k ?? 3}}`;
}
