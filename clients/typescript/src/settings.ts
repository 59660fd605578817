/** What a frontend may set: an option beats the environment, which beats the default. */

import { SettingsError } from "./errors.js";
import { MAX_CANDIDATES, NUMBERS } from "./generated/constants.js";
import type { BreakerChange } from "./queue/watch.js";

type NumberName = keyof typeof NUMBERS;

/** Options of `Reranker`. docs/settings.md tells of each; the environment variable of `queueMax` is MEMSIFT_QUEUE_MAX. */
export type Options = { readonly [name in NumberName]?: number | undefined } & {
  /** `redis://`, `rediss://` or `unix://`; MEMSIFT_REDIS_URL. */
  readonly url?: string | undefined;
  /** The Redis list that jobs wait in; MEMSIFT_QUEUE. */
  readonly queue?: string | undefined;
  /** Candidates that reach the worker; unset: 20, all for `jev`. MEMSIFT_PREFILTER_KEEP. */
  readonly prefilterKeep?: number | "all" | undefined;
  /** `id:key,id:key`: seal jobs and rankings; MEMSIFT_SEAL_KEYS. */
  readonly sealKeys?: string | undefined;
  /** Options of `tls.connect` for `rediss://`: `ca`, `cert`, `key`, `servername`. */
  readonly tls?: import("node:tls").ConnectionOptions | undefined;
  /** Called when the breaker opens or closes, for a metric. */
  readonly onBreaker?: ((change: BreakerChange) => void) | undefined;
  /** Called with what an operator should know, without any memory text; unset: `process.emitWarning`. */
  readonly onWarning?: ((message: string) => void) | undefined;
};

export type Settings = { readonly [name in NumberName]: number } & {
  readonly url: string;
  readonly queue: string;
  readonly prefilterKeep: number | null;
  readonly sealKeys: string;
};

// Cheap enough to read every candidate, and better for it.
const READS_ALL = "jev";
const KEPT = 20;
const KEEP = "MEMSIFT_PREFILTER_KEEP";

/** Read and check them; throws `SettingsError`, which names the setting. */
export function readSettings(options: Options, environment: NodeJS.ProcessEnv = process.env): Settings {
  const text = (name: "url" | "queue" | "sealKeys", variable: string, usual: string): string =>
    options[name] ?? (environment[variable] || usual);
  const numbers = Object.fromEntries(
    Object.keys(NUMBERS).map((name) => [name, readNumber(name as NumberName, options, environment)]),
  ) as { [name in NumberName]: number };
  if (numbers.weightVector + numbers.weightRecency + numbers.weightKeyword <= 0) {
    throw new SettingsError("weightVector, weightRecency and weightKeyword must not all be 0");
  }
  const url = text("url", "MEMSIFT_REDIS_URL", "redis://127.0.0.1:6379/0");
  if (!/^(rediss?|unix):\/\//i.test(url)) {
    // It may hold a password, so it is not repeated.
    throw new SettingsError("url: must begin with redis://, rediss:// or unix:// (no Sentinel, no Cluster yet)");
  }
  const queue = text("queue", "MEMSIFT_QUEUE", "memsift.rerank");
  if (!queue) throw new SettingsError("queue: must not be empty");
  const sealKeys = text("sealKeys", "MEMSIFT_SEAL_KEYS", "");
  return { ...numbers, url, queue, sealKeys, prefilterKeep: readKeep(options, environment) };
}

/** How many candidates the prefilter leaves for this ranker; null is the worker's default one. */
export function keptFor(settings: Settings, ranker: string | null): number {
  if (settings.prefilterKeep !== null) return settings.prefilterKeep;
  return ranker?.split(">")[0] === READS_ALL ? MAX_CANDIDATES : KEPT;
}

function readNumber(name: NumberName, options: Options, environment: NodeJS.ProcessEnv): number {
  const { variable, default: usual, whole, least, above, most } = NUMBERS[name];
  const said = environment[variable];
  const [value, place] =
    options[name] !== undefined ? [options[name], name] : [said ? Number(said) : usual, variable];
  const low = above ? value > least : value >= least;
  if (Number.isFinite(value) && low && value <= (most ?? Infinity) && (!whole || Number.isInteger(value))) {
    return value;
  }
  const bounds = `${above ? "above" : "from"} ${least}${most === null ? "" : ` to ${most}`}`;
  throw new SettingsError(`${place}: must be a ${whole ? "whole number" : "number"} ${bounds}`);
}

function readKeep(options: Options, environment: NodeJS.ProcessEnv): number | null {
  const said = options.prefilterKeep ?? (environment[KEEP] || null);
  if (said === null) return null;
  const keep = said === "all" ? MAX_CANDIDATES : Number(said);
  if (Number.isInteger(keep) && keep >= 1 && keep <= MAX_CANDIDATES) return keep;
  throw new SettingsError(`prefilterKeep: must be a whole number from 1 to ${MAX_CANDIDATES}, or "all"`);
}
