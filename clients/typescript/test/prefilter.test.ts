import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../src/candidate.js";
import type { Kind, Memory } from "../src/generated/job.js";
import { HAN } from "../src/prefilter/words.js";
import { type Prefiltered, prefilter } from "../src/prefilter/prefilter.js";
import { readSettings } from "../src/settings.js";
import { type Named, rows, vectors } from "./vectors.js";

interface Vector extends Named {
  query: string;
  now: string;
  keep: number;
  query_embedding: number[] | null;
  memories: (Required<Memory> & { embedding: number[] | null })[];
  kept: string[];
  kinds: Kind[];
  scores: number[];
  evidence: number[];
  pruned: string[];
}

interface Asked {
  id: string;
  lang: string;
  now: string;
  query: string;
  gold: string[];
  candidates: string[];
  similarity: number[];
}

interface Expected {
  id: string;
  lang: "en" | "zh";
  order: number[];
  kept: number;
}

const weights = readSettings({}, {});
const cases = vectors<Vector[]>("rankings");
const isChinese = (one: Vector): boolean => one.memories.some((memory) => HAN.test(memory.text));

describe("the prefilter beside Python's, in English", () => {
  for (const one of cases.filter((vector) => !isChinese(vector))) {
    it(one.name, () => {
      const found = ranked(one);
      assert.deepEqual(found.kept.map((place) => place.memory.id), one.kept);
      assert.deepEqual(found.kept.map((place) => place.memory.kind), one.kinds);
      assert.deepEqual(found.pruned, one.pruned);
      found.kept.forEach((place, at) => {
        assert.ok(Math.abs(place.score - (one.scores[at] as number)) < 1e-9, `score ${at}`);
        assert.ok(Math.abs(place.evidence - (one.evidence[at] as number)) < 1e-5, `evidence ${at}`);
      });
    });
  }
});

describe("the prefilter beside Python's, in Chinese", () => {
  const chinese = cases.filter(isChinese);

  it("drops no memory that Python keeps", () => {
    assert.ok(chinese.length > 10);
    for (const one of chinese) {
      const dropped = ranked(one).pruned;
      assert.deepEqual(dropped.filter((id) => !one.pruned.includes(id)), [], one.name);
    }
  });

  it("drops what says the same in nearly the same characters", () => {
    const found = chinese.filter((one) => one.pruned.length && ranked(one).pruned.length);
    assert.ok(found.length >= 2);
  });
});

describe("the questions of tests/data/time", () => {
  const asked = new Map(rows<Asked>("time.queries").map((one) => [one.id, one]));
  const texts = new Map(rows<Memory>("time.memories").map((one) => [one.id, one]));
  const all = vectors<Expected[]>("questions").map((expected) => {
    const question = asked.get(expected.id) as Asked;
    const memories = question.candidates.map((id, at) => {
      return candidate({ ...(texts.get(id) as Memory), similarity: question.similarity[at] as number });
    });
    const found = prefilter(question.query, memories, { ...options(question.now), keep: 200 });
    const order = [...found.kept.map((place) => place.memory.id), ...found.pruned];
    return { ...expected, question, order, theirs: expected.order.map((at) => question.candidates[at] as string) };
  });
  const [english, chinese] = ["en", "zh"].map((lang) => all.filter((one) => one.lang === lang));

  it("in English get Python's order to the last place", () => {
    assert.ok(english && english.length > 60);
    for (const one of english) assert.deepEqual(one.order, one.theirs, one.id);
  });

  it("in Chinese get nearly Python's first three, and as good an answer", () => {
    assert.ok(chinese && chinese.length > 60);
    // How many of the first three are the same, and whether one of them answers
    const overlap = mean(chinese.map((one) => shared(one.order.slice(0, 3), one.theirs.slice(0, 3)) / 3));
    const answerable = chinese.filter((one) => one.question.gold.length);
    const [ours, theirs] = (["order", "theirs"] as const).map((which) =>
      mean(answerable.map((one) => (shared(one[which].slice(0, 3), one.question.gold) ? 1 : 0))),
    ) as [number, number];
    assert.ok(overlap >= 0.95, `the first three agree to ${overlap}`);
    assert.ok(ours >= theirs - 0.02, `${ours} have an answer among them, of Python's ${theirs}`);
  });
});

function ranked(one: Vector): Prefiltered {
  const more = { keep: one.keep, queryEmbedding: one.query_embedding };
  return prefilter(one.query, one.memories.map(candidate), { ...options(one.now), ...more });
}

function options(now: string): { now: number; weights: typeof weights; queryEmbedding: null } {
  return { now: Date.parse(now), weights, queryEmbedding: null };
}

function candidate(memory: Memory & { embedding?: number[] | null }): Candidate {
  return {
    id: memory.id,
    text: memory.text,
    createdAt: memory.created_at,
    time: memory.created_at === null ? null : Date.parse(memory.created_at),
    kind: memory.kind ?? "unknown",
    similarity: memory.similarity ?? null,
    embedding: memory.embedding ?? null,
    truncated: false,
  };
}

function shared(one: readonly string[], other: readonly string[]): number {
  return one.filter((id) => other.includes(id)).length;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
