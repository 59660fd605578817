import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { settle } from "../src/answering.js";
import type { Prepared } from "../src/preparation.js";
import { Unreadable, type Whole, decodeReply } from "../src/protocol/reply.js";
import { type Named, vectors } from "./vectors.js";

interface Vector extends Named {
  raw: string;
  result?: Whole;
  unreadable?: string;
}

const { fallback, top_k, min_relevance, replies } = vectors<{
  fallback: Whole;
  top_k: number;
  min_relevance: number;
  replies: Vector[];
}>("replies");
const asked = { topK: top_k, minRelevance: min_relevance } as Prepared["asked"];

describe("a reply", () => {
  for (const { name, raw, result } of replies.filter((one) => one.result)) {
    it(`means the same as in Python: ${name}`, () => {
      assert.deepEqual(settle({ fallback, asked }, decodeReply(raw)), result);
    });
  }

  for (const { name, raw } of replies.filter((one) => one.unreadable)) {
    it(`is unreadable as in Python, and none of it is told: ${name}`, () => {
      assert.throws(() => decodeReply(raw), (error) => {
        return error instanceof Unreadable && !/nonsense|oracle|bad_mood|high/.test(error.message);
      });
    });
  }

  it("is seen in every way that vectors know", () => {
    assert.ok(replies.filter((one) => one.result).length > 20);
    assert.ok(replies.filter((one) => one.unreadable).length > 10);
  });
});
