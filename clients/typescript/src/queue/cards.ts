/** What each worker says of itself once a second, as far as a frontend cares. */

export interface Card {
  /** Where Redis keeps the card; it dies with its worker. */
  readonly key: string;
  /** What the worker gets done at capacity; 0 when it does not know. */
  readonly jobsPerS: number;
  /** What its batches take; 0 when it does not know. */
  readonly batchMs: number;
  /** The runtime whose own list it drains; empty when it drains the queue alone. */
  readonly runtime: string;
}

/** Read one; what is missing or makes no sense is not known. */
export function readCard(key: string, raw: unknown): Card {
  let said: Record<string, unknown> = {};
  try {
    const data: unknown = JSON.parse(String(raw ?? "{}"));
    if (typeof data === "object" && data !== null) said = data as Record<string, unknown>;
  } catch {
    // an older release, or none of ours
  }
  return {
    key,
    jobsPerS: positive(said.jobs_per_s),
    batchMs: positive(said.batch_ms),
    runtime: typeof said.own === "string" ? said.own : "",
  };
}

/** What these workers get done together, jobs per second; one that was never full counts like the mean. */
export function throughput(cards: readonly Card[]): number {
  const known = cards.filter((card) => card.jobsPerS);
  const total = known.reduce((sum, card) => sum + card.jobsPerS, 0);
  return known.length ? (total / known.length) * cards.length : 0;
}

function positive(value: unknown): number {
  return typeof value === "number" && value > 0 ? value : 0;
}
