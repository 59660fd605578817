import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { decksKey, forgottenKey } from "../../src/protocol/keys.js";
import { freshQueue, handWorker, memories, question, reranker, stage } from "./stand.js";

describe("with a real worker", () => {
  const stand = stage();
  const queue = freshQueue();

  before(async () => {
    await stand.worker(queue, { ranker: "jev", also_serve: "local", scripted_ms: 200 });
  });

  it("the model's ranking comes back, with the memories to show", async (context) => {
    // When
    const found = await (await reranker(context, { url: stand.url, queue })).rerank(question({ topK: 1 }));
    // Then
    assert.deepEqual([found.source, found.cause, found.result.ranker], ["model", null, "jev"]);
    assert.deepEqual(found.ranking.map((one) => one.id).sort(), ["m0", "m1", "m2", "m3"]);
    assert.deepEqual(found.memories(), [memories()[0]]);
    assert.deepEqual(found.texts(), [memories()[0]?.text]);
    assert.ok(found.result.timings_ms.total && found.result.timings_ms.rank !== undefined);
  });

  it("Chinese comes back as it went", async (context) => {
    const given = [
      { id: "行程", text: "周三到上海出差，住在外滩边的酒店。😀", createdAt: "2026-03-16T09:00:00+08:00" },
      { id: "口味", text: "用户对花生过敏。", createdAt: null },
    ];
    const asked = { query: "我周三住哪？", memories: given, now: "2026-03-17T09:00:00+08:00" };
    const found = await (await reranker(context, { url: stand.url, queue })).rerank(asked);
    assert.equal(found.source, "model");
    assert.equal(found.selected[0], "行程");
  });

  it("all that a question can say is understood", async (context) => {
    const more = {
      session: "s1",
      turns: [{ role: "user" as const, text: 'She said "hello",\nthen left.' }],
      activity: ["opened the calendar"],
      ranker: "local",
      minRelevance: 0.1,
      now: new Date(),
    };
    const found = await (await reranker(context, { url: stand.url, queue })).rerank(question(more));
    assert.deepEqual([found.cause, found.result.ranker], [null, "local"]);
  });

  it("many calls at once have their own candidates each", async (context) => {
    // Given
    const one = await reranker(context, { url: stand.url, queue, deadlineMs: 30_000 });
    // When
    const calls = Array.from({ length: 100 }, (_, at) => {
      return one.rerank(question({ memories: memories(`c${at}.`), session: `s${at}` }));
    });
    // Then
    (await Promise.all(calls)).forEach((found, at) => {
      assert.equal(found.source, "model", `${found.cause}`);
      assert.ok(found.ranking.every((place) => place.id.startsWith(`c${at}.`)));
    });
  });

  it("a ranker that nobody serves is refused, and the prefilter answers", async (context) => {
    const found = await (await reranker(context, { url: stand.url, queue })).rerank(question({ ranker: "oracle" }));
    assert.deepEqual([found.source, found.cause], ["prefilter", "unknown_ranker"]);
    assert.equal(found.selected[0], "m0");
  });

  it("the job of a caller who went away is marked, and the next call is answered", async (context) => {
    // Given
    const [one, hand] = [await reranker(context, { url: stand.url, queue }), await handWorker(context, stand.url, queue)];
    const leaving = new AbortController();
    // When the caller leaves while his job is on its way
    const call = one.rerank(question({ signal: leaving.signal, deadlineMs: 60_000, ranker: "local" }));
    await new Promise(setImmediate);
    leaving.abort(new Error("left"));
    // Then
    await assert.rejects(call, /left/);
    assert.equal((await one.rerank(question())).source, "model");
    assert.equal((await hand.redis.keys(`${queue}:cancel:*`)).length, 1);
  });

  it("sealed jobs and rankings pass, and only they", async (context) => {
    // Given a worker with a key
    const sealed = freshQueue();
    const [key, other] = ["k1:", "k2:"].map((id) => id + Buffer.alloc(32, id).toString("base64"));
    await stand.worker(sealed, { ranker: "jev", seal_keys: key as string });
    // When we have it, have none, have another
    const [with_, without, wrong] = await Promise.all(
      [key, "", other].map((sealKeys) => reranker(context, { url: stand.url, queue: sealed, sealKeys })),
    );
    // Then
    assert.equal((await with_?.rerank(question()))?.source, "model");
    assert.equal((await without?.rerank(question()))?.cause, "invalid_job");
    assert.equal((await wrong?.rerank(question()))?.cause, "invalid_job");
  });

  it("a memory that is forgotten leaves all prompts of its user", async (context) => {
    // Given a user's deck, and another's
    const hand = await handWorker(context, stand.url, queue);
    const deck = `${queue}:deck:mara`;
    await hand.redis.set(deck, "...");
    await hand.redis.sAdd(decksKey(queue, "mara"), deck);
    await hand.redis.sAdd(decksKey(queue, "jonas"), `${queue}:deck:jonas`);
    // When
    await (await reranker(context, { url: stand.url, queue })).forget({ user: "mara", memories: ["m1"] });
    // Then
    assert.equal(await hand.redis.exists(deck), 0);
    assert.deepEqual(await hand.redis.sMembers(forgottenKey(queue, "mara")), ["m1"]);
    assert.ok((await hand.redis.ttl(forgottenKey(queue, "mara"))) > 500);
  });
});
