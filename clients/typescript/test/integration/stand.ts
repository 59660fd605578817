/** A real Valkey and real memsift workers, started by Python; and a worker that a test plays by hand. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { createClient } from "@redis/client";
import { Reranker } from "../../src/index.js";
import type { Memory, Options, Question } from "../../src/index.js";

const ROOT = new URL("../../../../../", import.meta.url);
const VARIABLE = "MEMSIFT_TEST_PYTHON";

export class Stand {
  /** Of its Valkey, where it has one. */
  url = "";
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    const python = process.env[VARIABLE];
    if (!python) throw new Error(`${VARIABLE} must name a Python that has memsift: run make test-typescript`);
    const stdio = ["pipe", "pipe", "inherit"] as const;
    this.#process = spawn(python, ["-m", "tests.typescript.stand"], { cwd: ROOT, stdio: [...stdio] });
    this.#lines = createInterface(this.#process.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]();
  }

  valkey(port = 0): Promise<{ url: string; port: number; pid: number }> {
    return this.#order({ do: "valkey", port });
  }

  /** A Valkey on the sample rules for who may do what: the URLs of its users. */
  guarded(): Promise<{ producer: string; worker: string; operator: string }> {
    return this.#order({ do: "guarded" });
  }

  /** A worker that is ready; with the runtime that has no model unless `settings` say otherwise. */
  worker(queue: string, settings: Record<string, string | number> = {}): Promise<{ pid: number }> {
    return this.#order({ do: "worker", url: this.url, queue, ...settings });
  }

  signal(pid: number, name: NodeJS.Signals): Promise<unknown> {
    return this.#order({ do: "signal", pid, name });
  }

  /** End all that it started. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.stdin?.end();
    await ended;
  }

  async #order<T>(order: object): Promise<T> {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the stand has ended; its words are above");
    return JSON.parse(value) as T;
  }
}

/** A stand with a Valkey, for the tests of one `describe`. */
export function stage(): Stand {
  const stand = new Stand();
  before(async () => {
    stand.url = (await stand.valkey()).url;
  });
  after(() => stand.stop());
  return stand;
}

/** A worker by hand, and what a test looks at in Redis. */
export async function handWorker(context: Context, url: string, queue: string) {
  const redis = createClient({ url, RESP: 2 });
  redis.on("error", () => undefined);
  await redis.connect();
  context.after(() => redis.destroy());
  return {
    redis,
    /** The next job of the queue, with the message that it came in. */
    async take(): Promise<{ raw: string; job: Job; reply: (...raws: string[]) => Promise<void> }> {
      const popped = (await redis.sendCommand(["BRPOP", queue, "10"])) as [string, string] | null;
      if (!popped) throw new Error("no job came");
      const job = JSON.parse(JSON.parse(popped[1]).body)[1].job as Job;
      const reply = async (...raws: string[]): Promise<void> => void (await redis.rPush(job.reply_to, raws));
      return { raw: popped[1], job, reply };
    },
  };
}

interface Context {
  after(end: () => void | Promise<void>): void;
}

export interface Job {
  id: string;
  reply_to: string;
  candidates: { id: string }[];
}

/** A good reply: the candidates in this order. */
export function ranking(job: Job, ids = job.candidates.map((one) => one.id).reverse()): string {
  const places = ids.map((id, at) => ({ id, score: -at }));
  return JSON.stringify({ v: 1, result: { job_id: job.id, ranking: places, source: "model" } });
}

export const freshQueue = (): string => `test:ts:${randomUUID()}`;

/** A reranker for one test that has found Redis, closed after the test. */
export async function reranker(context: Context, options: Options): Promise<Reranker> {
  const made = new Reranker({ deadlineMs: 10_000, ...options });
  context.after(() => made.close());
  await until(() => made.ready());
  return made;
}

const TEXTS = [
  "Mara keeps a spare key to the cabin under the blue flowerpot.",
  "On Friday Mara meets Jonas at the climbing hall at seven.",
  "Mara is allergic to hazelnuts and always asks before dessert.",
  "Jonas moved from Graz to Trieste in January for a new job.",
];

export function memories(prefix = "m"): Memory[] {
  return TEXTS.map((text, at) => {
    const createdAt = new Date(Date.UTC(2026, 2, 17 - at));
    return { id: `${prefix}${at}`, text, createdAt, similarity: 0.8 - at / 100 };
  });
}

export function question(more: Partial<Question> = {}): Question {
  return { query: "Where is the spare key to the cabin?", memories: memories(), user: "mara", ...more };
}

/** Wait until something holds, for so long that a busy machine is no reason. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await condition()); ) {
    if (Date.now() > end) throw new Error("not in time");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
