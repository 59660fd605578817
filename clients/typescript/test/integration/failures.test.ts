import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { freshQueue, handWorker, question, ranking, reranker, stage, until } from "./stand.js";

describe("when something breaks", () => {
  const stand = stage();

  it("without a worker the prefilter answers at the deadline", async (context) => {
    const one = await reranker(context, { url: stand.url, queue: freshQueue(), deadlineMs: 500 });
    const found = await one.rerank(question());
    assert.deepEqual([found.source, found.cause, found.selected[0]], ["prefilter", "deadline", "m0"]);
    assert.deepEqual(found.ranking, found.fallback.ranking);
  });

  it("a worker that is killed with the job in hand costs the model's answer alone", async (context) => {
    // Given a worker that takes long
    const queue = freshQueue();
    const { pid } = await stand.worker(queue, { ranker: "local", scripted_ms: 60_000 });
    const one = await reranker(context, { url: stand.url, queue, deadlineMs: 8_000 });
    const hand = await handWorker(context, stand.url, queue);
    // When it is killed with the job, as its card says
    const call = one.rerank(question());
    const [card] = await hand.redis.keys(`${queue}:worker:*`);
    await until(async () => JSON.parse((await hand.redis.get(card ?? "")) ?? "{}").in_flight > 0);
    await stand.signal(pid, "SIGKILL");
    // Then
    assert.equal((await call).cause, "deadline");
    // And the next worker answers the next call
    await stand.worker(queue, { ranker: "jev" });
    assert.equal((await one.rerank(question({ deadlineMs: 10_000 }))).source, "model");
  });

  it("malformed replies never become a ranking", async (context) => {
    const queue = freshQueue();
    const warnings: string[] = [];
    const onWarning = (text: string): number => warnings.push(text);
    const one = await reranker(context, { url: stand.url, queue, onWarning });
    const hand = await handWorker(context, stand.url, queue);
    // A ranking of others' memories, one with a candidate missing or twice
    for (const ids of [["x", "y", "z", "w"], ["m0"], ["m0", "m1", "m2", "m3", "m3"], ["m0", "m0", "m1", "m2"]]) {
      const call = one.rerank(question());
      const { job, reply } = await hand.take();
      await reply(ranking(job, ids));
      assert.equal((await call).cause, "invalid_reply");
    }
    // What is no reply, or nobody's, is passed over: the call goes on waiting for its own
    const call = one.rerank(question());
    const { job, reply } = await hand.take();
    await reply("private nonsense", "{}", '{"v":9}', ranking({ ...job, id: "nobodys" }), ranking(job), ranking(job));
    assert.equal((await call).source, "model");
    assert.equal(warnings.length, 3);
    assert.ok(!warnings.some((text) => text.includes("private")));
  });

  it("a reply that comes late is dropped, and is no other call's", async (context) => {
    const queue = freshQueue();
    const one = await reranker(context, { url: stand.url, queue });
    const hand = await handWorker(context, stand.url, queue);
    // Given a call that has ended
    assert.equal((await one.rerank(question({ deadlineMs: 500 }))).cause, "deadline");
    const late = await hand.take();
    // When its reply comes while another call waits
    const call = one.rerank(question());
    const { job, reply } = await hand.take();
    await late.reply(ranking(late.job, ["m3", "m2", "m1", "m0"]));
    await reply(ranking(job, ["m1", "m0", "m2", "m3"]));
    // Then
    assert.equal((await call).selected[0], "m1");
  });

  it("a caller who leaves is let go at once, and his job is marked until its deadline", async (context) => {
    const queue = freshQueue();
    const one = await reranker(context, { url: stand.url, queue });
    const hand = await handWorker(context, stand.url, queue);
    const leaving = new AbortController();
    // When
    const call = one.rerank(question({ signal: leaving.signal }));
    const { job } = await hand.take();
    leaving.abort();
    // Then
    await assert.rejects(call, { name: "AbortError" });
    await until(async () => (await hand.redis.exists(`${queue}:cancel:${job.id}`)) === 1);
    const left = await hand.redis.pTTL(`${queue}:cancel:${job.id}`);
    assert.ok(left > 0 && left <= 10_000);
    // And who has left before is not even sent
    await assert.rejects(one.rerank(question({ signal: AbortSignal.abort() })), { name: "AbortError" });
    assert.equal(await hand.redis.lLen(queue), 0);
  });

  it("close() answers what is in flight, and whatever comes after", async (context) => {
    const queue = freshQueue();
    const one = await reranker(context, { url: stand.url, queue });
    const hand = await handWorker(context, stand.url, queue);
    const call = one.rerank(question());
    await hand.take();
    await one.close();
    assert.equal((await call).cause, "closed");
    assert.equal((await one.rerank(question())).cause, "closed");
  });

  it("no more jobs wait than may, and the list goes by itself", async (context) => {
    const queue = freshQueue();
    const one = await reranker(context, { url: stand.url, queue, queueMax: 1 });
    const hand = await handWorker(context, stand.url, queue);
    // Given one that waits
    const first = one.rerank(question({ deadlineMs: 2_000 }));
    await until(async () => (await hand.redis.lLen(queue)) === 1);
    // Then
    assert.equal((await one.rerank(question())).cause, "queue_full");
    const ttl = await hand.redis.pTTL(queue);
    assert.ok(ttl > 55_000 && ttl <= 62_000, `${ttl}`);
    assert.equal((await first).cause, "deadline");
  });

  it("behind jobs that take too long a call is not sent", async (context) => {
    const queue = freshQueue();
    const hand = await handWorker(context, stand.url, queue);
    // Given a worker that gets one job done in ten seconds, and one that waits
    const now = Number((await hand.redis.sendCommand(["TIME"]) as string[])[0]);
    await hand.redis.zAdd(`${queue}:workers`, { score: now + 60, value: "slow@host" });
    await hand.redis.set(`${queue}:worker:slow@host`, '{"jobs_per_s": 0.1, "batch_ms": 10}');
    const one = await reranker(context, { url: stand.url, queue, deadlineMs: 1_500 });
    const first = one.rerank(question({ deadlineMs: 2_500 }));
    await until(async () => (await hand.redis.lLen(queue)) === 1);
    // Then
    assert.equal((await one.rerank(question())).cause, "overloaded");
    assert.equal((await first).cause, "deadline");
  });

  it("wrong arguments are refused before anything is sent", async (context) => {
    const queue = freshQueue();
    const hand = await handWorker(context, stand.url, queue);
    const one = await reranker(context, { url: stand.url, queue });
    await assert.rejects(one.rerank(question({ query: " " })), { name: "InvalidInput" });
    const heavy = Array.from({ length: 200 }, (_, at) => {
      return { id: `m${at}`, text: `private ${at} `.repeat(180), createdAt: null };
    });
    await assert.rejects(one.rerank(question({ memories: heavy, ranker: "jev" })), (error: Error) => {
      return error.name === "JobTooLarge" && !error.message.includes("private");
    });
    assert.equal((await one.rerank(question({ memories: [] }))).cause, "no_candidates");
    assert.equal(await hand.redis.exists(queue), 0);
  });
});
