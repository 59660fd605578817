/** A job as it travels: versioned JSON without what is a default anyway. */

import { JobTooLarge } from "../errors.js";
import { ANONYMOUS, DEFAULT_SESSION, MAX_JOB_BYTES, WIRE_VERSION } from "../generated/constants.js";
import type { Memory, RerankJob } from "../generated/job.js";

// Left out where they stand; in the order in which they are written.
const JOB_DEFAULTS: { [name in keyof Required<Omit<RerankJob, "v">>]: unknown } = {
  id: undefined,
  user: ANONYMOUS,
  session: DEFAULT_SESSION,
  warm: false,
  query: "",
  now: undefined,
  turns: [],
  activity: [],
  candidates: undefined,
  prior: [],
  top_k: 3,
  min_relevance: 0,
  ranker: null,
  explain: false,
  deadline: undefined,
  sent_at: null,
  trace: {},
  reply_to: null,
};
const MEMORY_DEFAULTS: { [name in keyof Required<Memory>]: unknown } = {
  id: undefined,
  text: undefined,
  created_at: undefined,
  kind: "unknown",
  similarity: null,
  truncated: false,
};

/** The job as JSON text; throws `JobTooLarge` over 256 KiB. */
export function encodeJob(job: RerankJob): string {
  const candidates = job.candidates.map((one) => told(one, MEMORY_DEFAULTS));
  const encoded = JSON.stringify({ v: WIRE_VERSION, ...told({ ...job, candidates }, JOB_DEFAULTS) });
  const bytes = Buffer.byteLength(encoded);
  if (bytes > MAX_JOB_BYTES) {
    throw new JobTooLarge(
      `the job is ${bytes} bytes, over the limit of ${MAX_JOB_BYTES}: send fewer or shorter memories or turns`,
    );
  }
  return encoded;
}

function told(whole: object, defaults: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, usual] of Object.entries(defaults)) {
    const value = (whole as Record<string, unknown>)[name];
    if (value !== undefined && !isSame(value, usual)) kept[name] = value;
  }
  return kept;
}

function isSame(value: unknown, usual: unknown): boolean {
  if (typeof usual !== "object" || usual === null) return value === usual;
  return Object.keys(value as object).length === 0;
}
