/** What `rerank()` resolves to: a ranking together with the memories that it ranks. */

import type { Cause, Ranked, Source } from "./generated/reply.js";
import type { Whole } from "./protocol/reply.js";
import type { Memory } from "./question.js";

export class Reranking {
  /** The whole result as the wire has it: timings, tokens, ranker, model. Holds no memory text. */
  readonly result: Whole;
  /** The prefilter's ranking that stood ready. */
  readonly fallback: Whole;
  readonly #texts: ReadonlyMap<string, string>;
  readonly #memories: ReadonlyMap<string, Memory>;

  constructor(
    result: Whole,
    fallback: Whole,
    texts: ReadonlyMap<string, string>,
    memories: ReadonlyMap<string, Memory>,
  ) {
    this.result = result;
    this.fallback = fallback;
    this.#texts = texts;
    this.#memories = memories;
  }

  /** Every candidate that was not pruned, best first. */
  get ranking(): readonly Ranked[] {
    return this.result.ranking;
  }

  /** Whether the model or the prefilter made this ranking. */
  get source(): Source {
    return this.result.source;
  }

  /** Why the prefilter had to answer; null when the model did. */
  get cause(): Cause | null {
    return this.result.cause;
  }

  /** Ids of what belongs into the prompt, best first: `topK` of those not known to be below `minRelevance`. */
  get selected(): readonly string[] {
    return this.result.selected ?? [];
  }

  /** Whether there were memories, and every one is known to be too improbable for the prompt. */
  get abstained(): boolean {
    return this.ranking.length > 0 && this.selected.length === 0;
  }

  /** The selected memories as they were given, best first. */
  memories(): Memory[] {
    return this.selected.map((id) => this.#memories.get(id) as Memory);
  }

  /** The texts of these, cleaned and cut as they go into the prompt. */
  texts(): string[] {
    return this.selected.map((id) => this.#texts.get(id) as string);
  }
}
