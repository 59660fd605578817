import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { Stand, handWorker, question, reranker, until } from "./stand.js";

describe("under the rules for frontends of ops/redis-acl.conf", () => {
  const stand = new Stand();
  after(() => stand.stop());

  it("all that a client does is allowed", async (context) => {
    // Given a worker under its own rules
    const queue = "memsift.rerank";
    const { producer, worker, operator } = await stand.guarded();
    stand.url = worker;
    await stand.worker(queue, { ranker: "jev", seen_by: operator });
    const one = await reranker(context, { url: producer, queue });
    // When it ranks, leaves, forgets
    assert.equal((await one.rerank(question())).source, "model");
    const leaving = new AbortController();
    const call = one.rerank(question({ signal: leaving.signal, ranker: "jev" }));
    await new Promise(setImmediate);
    leaving.abort();
    await assert.rejects(call, { name: "AbortError" });
    await one.forget({ user: "mara", memories: ["m1"] });
    // Then the breaker was told, and the server has denied nothing
    const hand = await handWorker(context, operator, queue);
    await until(async () => Number(await hand.redis.hGet(`${queue}:breaker`, "answered")) > 0);
    const denied = (await hand.redis.sendCommand(["ACL", "LOG"])) as string[][];
    assert.deepEqual(denied, []);
  });
});
