// Generated from clients/protocol/*.schema.json by `npm run generate`; do not edit.

/**
 * A worker's answer to one job.
 */
export type Reply = ResultReply | RefusalReply;
/**
 * `model` or `prefilter`.
 */
export type Source = "model" | "prefilter";
/**
 * Why the prefilter had to answer, or why a worker refused a job.
 */
export type Cause =
  | "no_candidates"
  | "deadline"
  | "expired"
  | "too_late"
  | "cancelled"
  | "redis_unavailable"
  | "breaker_open"
  | "overloaded"
  | "queue_full"
  | "closed"
  | "invalid_job"
  | "unknown_version"
  | "unknown_ranker"
  | "runtime_unavailable"
  | "runtime_timeout"
  | "runtime_garbage"
  | "ranker_error"
  | "quarantined"
  | "invalid_reply";
/**
 * Why less of a prompt came from the prefix cache than the session's last prompt held of it.
 */
export type Miss = "first_turn" | "deck_changed" | "other_runtime" | "evicted";

export interface ResultReply {
  /**
   * The wire version.
   */
  v?: 1;
  result: RerankResult;
}
/**
 * A ranking of candidates, best first.
 */
export interface RerankResult {
  /**
   * the job that it answers.
   */
  job_id: string;
  /**
   * best first; from a worker every candidate of the job, each once.
   */
  ranking: Ranked[];
  source: Source;
  /**
   * why the prefilter answered; None for `model`.
   */
  cause?: Cause | null;
  /**
   * ids of what belongs into the prompt, best first: the first `top_k` whose relevance is not known to be below the job's `min_relevance`. Empty under a ranking that is not: nothing answers. None in replies of older workers.
   */
  selected?: string[] | null;
  /**
   * ids that the prefilter left out before the model (low score, near-duplicates); filled in by the producer.
   */
  pruned?: string[];
  /**
   * the model's own words, where a strategy gives them.
   */
  reason?: string | null;
  /**
   * which ranker answered.
   */
  ranker?: string;
  /**
   * which model it ran.
   */
  model?: string;
  /**
   * which prompts it asked; changes when a word of them does. "" where it asks none.
   */
  prompt_version?: string;
  /**
   * how its scores came about, where the job asks to be explained and the ranker fuses.
   */
  fusion?: Fusion | null;
  /**
   * milliseconds by step: `prefilter`, `queue` until a worker popped it, `place` until the ranker began (older workers do not tell), `rank`, and the `total` of the call. What is left of the total is the way there and back.
   */
  timings_ms?: {
    [k: string]: number;
  };
  /**
   * tokens of all prompts of this job.
   */
  prompt_tokens?: number;
  /**
   * how many of them came from the prefix cache.
   */
  cached_tokens?: number;
  /**
   * tokens that were generated.
   */
  output_tokens?: number;
  /**
   * what this job cost at a paid service; 0 for a model of one's own.
   */
  cost_usd?: number;
  /**
   * the session's deck; None where the worker's strategy has none.
   */
  deck?: DeckUse | null;
}
/**
 * A memory's place.
 */
export interface Ranked {
  /**
   * the memory's.
   */
  id: string;
  /**
   * orders one ranking; it does not compare across jobs or sources.
   */
  score: number;
  /**
   * how much speaks for it, comparable across the jobs of one ranker and model; None in replies of older workers.
   */
  evidence?: number | null;
  /**
   * the probability, 0 to 1, that it helps to answer; None where the ranker has no calibration.
   */
  relevance?: number | null;
}
/**
 * How a ranker that fuses came to its scores: `score = prior + weight * model`, for each memory it read.
 */
export interface Fusion {
  /**
   * of the model beside the prefilter's 1.
   */
  weight: number;
  /**
   * id -> what the prefilter says, as a z-score over the memories that were read.
   */
  prior: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$".
     */
    [k: string]: number;
  };
  /**
   * id -> what the model says, in the strategy's unit.
   */
  model: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$".
     */
    [k: string]: number;
  };
}
/**
 * A turn's deck.
 */
export interface DeckUse {
  /**
   * which prompt of the session this was, from 1.
   */
  turn: number;
  /**
   * how many memories it showed.
   */
  memories: number;
  /**
   * how many of them were no candidates of this turn.
   */
  stale: number;
  /**
   * of all memories, with the instructions before them.
   */
  tokens: number;
  /**
   * of those that were no candidates.
   */
  stale_tokens: number;
  /**
   * how many tokens this prompt had in common with the session's last one.
   */
  expected_tokens: number;
  /**
   * why not all of what the last prompt held was cached; None where it was.
   */
  miss?: Miss | null;
}
export interface RefusalReply {
  /**
   * The wire version.
   */
  v?: 1;
  refusal: Refusal;
}
/**
 * A worker's word that it will not rank this job; the producer falls back at once.
 */
export interface Refusal {
  job_id: string;
  cause: Cause;
}
