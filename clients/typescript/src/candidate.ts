/** A memory that was checked: what the prefilter reads and what a job shows of it. */

import type { Kind } from "./generated/job.js";

export interface Candidate {
  readonly id: string;
  readonly text: string;
  /** As it travels: ISO 8601 with a time zone; null where nobody knows. */
  readonly createdAt: string | null;
  /** The same in Unix milliseconds. */
  readonly time: number | null;
  readonly kind: Kind;
  readonly similarity: number | null;
  readonly embedding: readonly number[] | null;
  readonly truncated: boolean;
}
