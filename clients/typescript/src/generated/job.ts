// Generated from clients/protocol/*.schema.json by `npm run generate`; do not edit.

/**
 * `unknown` lets the prefilter guess.
 */
export type Kind = "time-bound" | "preference" | "fact" | "unknown";

/**
 * One question of one user with the memories that recall found; or no question yet, see `warm`.
 */
export interface RerankJob {
  /**
   * The wire version.
   */
  v?: 1;
  /**
   * unguessable; also the Celery task id.
   */
  id: string;
  /**
   * whose memories these are; separates one user's prefix cache from another's.
   */
  user?: string;
  /**
   * the conversation; its turns share a cached prefix, if it is named and the user too.
   */
  session?: string;
  /**
   * nothing is asked yet and nobody is answered: the runtime is to compute the KV of what the session's questions will share. Goes on lists of its own, under a task name of its own.
   */
  warm?: boolean;
  /**
   * the user's question; not blank, but empty where `warm` is set.
   */
  query?: string;
  /**
   * when it was asked, in the user's time zone.
   */
  now: string;
  /**
   * the conversation before it, oldest first; the last `MAX_TURNS` are kept.
   */
  turns?: Turn[];
  /**
   * short recent events such as "opened the calendar", oldest first.
   */
  activity?: string[];
  /**
   * at most `MAX_CANDIDATES`, ids unique, in the order in which the prompt shows them.
   *
   * @minItems 1
   * @maxItems 200
   */
  candidates: Memory[];
  /**
   * the prefilter's score of each candidate, same order; empty when no prefilter ran.
   */
  prior?: number[];
  /**
   * how many memories the prompt will hold.
   */
  top_k?: number;
  /**
   * leave memories out of the prompt that are less probably relevant, 0 to 1; has an effect only where the worker has a calibration for the ranker.
   */
  min_relevance?: number;
  /**
   * another ranker that the worker serves; None takes the worker's default.
   */
  ranker?: string | null;
  /**
   * the result is to tell how its scores came about.
   */
  explain?: boolean;
  /**
   * unix seconds on the Redis server's clock; an answer after it is worth nothing.
   */
  deadline: number;
  /**
   * when it was enqueued, same clock; tells how long it waited.
   */
  sent_at?: number | null;
  /**
   * trace headers (sentry-trace, baggage, traceparent).
   */
  trace?: {
    [k: string]: string;
  };
  /**
   * the reply list of the frontend process; None for plain Celery clients.
   */
  reply_to?: string | null;
}
/**
 * One message of the conversation that the question belongs to.
 */
export interface Turn {
  role: "user" | "assistant";
  text: string;
}
/**
 * One memory snippet of one user.
 */
export interface Memory {
  /**
   * unique within a job.
   */
  id: string;
  /**
   * cleaned of control characters; over `MAX_MEMORY_CHARS` it is cut at a sentence.
   */
  text: string;
  /**
   * when it was learned; a time zone is required, since "yesterday" depends on it. None where nobody knows: it must be said, so that a forgotten time is no unknown one.
   */
  created_at: string | null;
  kind?: Kind;
  /**
   * the vector store's similarity to the query, on any scale; finite.
   */
  similarity?: number | null;
  /**
   * set when the text was cut.
   */
  truncated?: boolean;
}
