import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { freshQueue, handWorker, question, ranking, reranker, stage, until } from "./stand.js";

describe("the breaker that all frontends share", () => {
  const stand = stage();

  it("opens after failures in a row, is open for others too, and a probe closes it", async (context) => {
    // Given two processes' rerankers, and nobody who answers
    const queue = freshQueue();
    const options = { url: stand.url, queue, breakerFailures: 3, breakerProbeMs: 3_000, deadlineMs: 1_000 };
    const [one, other] = [await reranker(context, options), await reranker(context, options)];
    const hand = await handWorker(context, stand.url, queue);
    // When calls fail
    const failed = await Promise.all([1, 2, 3].map(() => one.rerank(question())));
    assert.deepEqual(failed.map((found) => found.cause), ["deadline", "deadline", "deadline"]);
    // Then it is open here, there, and in Redis
    await until(async () => (await hand.redis.hGet(`${queue}:breaker`, "state")) === "open");
    await until(async () => (await other.rerank(question())).cause === "breaker_open");
    assert.equal((await one.rerank(question())).cause, "breaker_open");
    assert.equal(await hand.redis.hGet(`${queue}:breaker`, "opened"), "1");
    // When a probe is answered
    await hand.redis.del(queue);
    const working = (async () => {
      const { job, reply } = await hand.take();
      await reply(ranking(job));
    })();
    await until(async () => (await one.rerank(question({ deadlineMs: 2_000 }))).source === "model");
    await working;
    // Then it is closed for all
    await until(async () => (await hand.redis.hGet(`${queue}:breaker`, "state")) === "closed");
    await until(async () => (await other.rerank(question())).cause === "deadline");
  });

  it("that another process opened is open here from the first call on", async (context) => {
    const queue = freshQueue();
    const hand = await handWorker(context, stand.url, queue);
    await hand.redis.hSet(`${queue}:breaker`, { state: "open", reason: "failures", next_probe: 9e15 });
    const changes: unknown[] = [];
    const one = await reranker(context, { url: stand.url, queue, onBreaker: (change) => changes.push(change) });
    assert.equal((await one.rerank(question())).cause, "breaker_open");
    assert.deepEqual(changes, [{ open: true, reason: "failures", ours: false }]);
    assert.equal(await hand.redis.exists(queue), 0);
  });

  it("opens when more than one answer in a hundred is slow", async (context) => {
    const queue = freshQueue();
    const hand = await handWorker(context, stand.url, queue);
    // Given an answer's time limit that none can keep, and 100 answers
    const one = await reranker(context, { url: stand.url, queue, breakerP99Ms: 1, breakerWindowS: 60 });
    const calls = Array.from({ length: 100 }, () => one.rerank(question()));
    for (const _ of calls) {
      const { job, reply } = await hand.take();
      await reply(ranking(job));
    }
    await Promise.all(calls);
    // Then
    await until(async () => (await hand.redis.hGet(`${queue}:breaker`, "reason")) === "slow");
    await until(async () => (await one.rerank(question())).cause === "breaker_open");
  });
});
