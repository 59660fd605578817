import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { InvalidInput } from "../src/errors.js";
import { type Question, check } from "../src/question.js";

const DEFAULTS = { topK: 3, minRelevance: 0, deadlineMs: 400 };
const memory = { id: "a", text: "The key is under the private pot.", createdAt: null };
const checked = (more: object) => check({ query: "Where?", memories: [memory], ...more } as Question, DEFAULTS);
const withMemory = (more: object): object => ({ memories: [{ ...memory, ...more }] });

describe("a question", () => {
  it("has defaults", () => {
    const { user, session, topK, deadlineMs, ranker, candidates } = checked({});
    assert.deepEqual([user, session, topK, deadlineMs, ranker], ["anonymous", "default", 3, 400, null]);
    assert.deepEqual([candidates[0]?.kind, candidates[0]?.similarity, candidates[0]?.time], ["unknown", null, null]);
  });

  it("keeps the zone of a time that is text, and takes a Date", () => {
    const text = "2026-10-09T08:00:00+01:00";
    const date = new Date("2026-10-09T07:00:00Z");
    assert.deepEqual([checked({ now: text }).now, checked({ now: date }).now], [text, date.toISOString()]);
    assert.equal(checked({ now: text }).nowMs, date.getTime());
    assert.equal(checked(withMemory({ createdAt: text })).candidates[0]?.createdAt, text);
  });

  it("is cleaned and cut", () => {
    const found = checked({ ...withMemory({ text: `a\u0000b${" word".repeat(600)}` }), query: "Where\ud800?" });
    assert.equal(found.query, "Where\ufffd?");
    assert.ok(found.candidates[0]?.truncated && found.candidates[0].text.startsWith("a b word"));
  });

  it("holds the last turns and the last activity", () => {
    const turns = Array.from({ length: 60 }, (_, at) => ({ role: "user", text: `${at}` }));
    const found = checked({ turns, activity: turns.map((one) => one.text) });
    assert.deepEqual([found.turns.length, found.turns[0]?.text], [50, "10"]);
    assert.deepEqual([found.activity.length, found.activity[0]], [50, "10"]);
  });

  for (const [place, more] of [
    ["query", { query: " \n" }],
    ["query", { query: undefined }],
    ["memories", { memories: "private" }],
    ["memories", { memories: [memory, memory] }],
    ["memories", { memories: Array.from({ length: 201 }, (_, at) => ({ ...memory, id: `${at}` })) }],
    ["memories.0", { memories: ["private"] }],
    ["memories.0.id", withMemory({ id: " private" })],
    ["memories.0.id", withMemory({ id: "" })],
    ["memories.0.id", withMemory({ id: "x".repeat(129) })],
    ["memories.0.text", withMemory({ text: "\u3000" })],
    ["memories.0.text", withMemory({ text: 7 })],
    ["memories.0.createdAt", withMemory({ createdAt: undefined })],
    ["memories.0.createdAt", withMemory({ createdAt: "2026-03-18T09:00:00" })],
    ["memories.0.createdAt", withMemory({ createdAt: "2026-02-30T09:00:00Z" })],
    ["memories.0.createdAt", withMemory({ createdAt: "2026-13-01T09:00:00Z" })],
    ["memories.0.createdAt", withMemory({ createdAt: new Date(Number.NaN) })],
    ["memories.0.createdAt", withMemory({ createdAt: new Date(8.64e15) })],
    ["memories.0.kind", withMemory({ kind: "private" })],
    ["memories.0.similarity", withMemory({ similarity: Number.NaN })],
    ["memories.0.similarity", withMemory({ similarity: "0.8" })],
    ["memories.0.embedding", withMemory({ embedding: [1, Infinity] })],
    ["queryEmbedding", { queryEmbedding: [] }],
    ["queryEmbedding", { queryEmbedding: [Number.NaN] }],
    ["turns.0.role", { turns: [{ role: "system", text: "private" }] }],
    ["turns.0.text", { turns: [{ role: "user", text: null }] }],
    ["activity.0", { activity: [7] }],
    ["user", { user: "a\u0000b" }],
    ["session", { session: "" }],
    ["topK", { topK: 0 }],
    ["topK", { topK: 1.5 }],
    ["minRelevance", { minRelevance: 2 }],
    ["deadlineMs", { deadlineMs: 0 }],
    ["deadlineMs", { deadlineMs: Number.NaN }],
    ["deadlineMs", { deadlineMs: 600_001 }],
    ["ranker", { ranker: "x".repeat(65) }],
    ["now", { now: "yesterday" }],
  ] as [string, object][]) {
    it(`is refused at ${place}, without a word of it: ${JSON.stringify(more).slice(0, 40)}`, () => {
      assert.throws(() => checked(more), (error) => {
        assert.ok(error instanceof InvalidInput);
        assert.ok(error.message.startsWith(`${place}: `), error.message);
        assert.ok(!error.message.includes("private"));
        return true;
      });
    });
  }
});
