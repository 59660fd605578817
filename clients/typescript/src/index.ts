/** memsift for frontends in TypeScript and JavaScript: ask for a reranking, get one by the deadline. */

export { InvalidInput, JobTooLarge, NotForgotten, SettingsError } from "./errors.js";
export type { Kind, Turn } from "./generated/job.js";
export type { Cause, Ranked, RerankResult, Source } from "./generated/reply.js";
export type { Memory, Question } from "./question.js";
export type { BreakerChange } from "./queue/watch.js";
export { Reranker } from "./reranker.js";
export { Reranking } from "./reranking.js";
export type { Options } from "./settings.js";
