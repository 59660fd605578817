import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { Reranker } from "../../src/index.js";
import { Stand, freshQueue, memories, question, until } from "./stand.js";

describe("when Redis breaks", () => {
  const stand = new Stand();
  after(() => stand.stop());

  it("it is away at first, comes, hangs, goes, and calls are answered all along", async (context) => {
    // Given a port that nothing listens on
    const { port, pid, url } = await stand.valkey();
    stand.url = url;
    await stand.signal(pid, "SIGKILL");
    const queue = freshQueue();
    const changes: string[] = [];
    const one = new Reranker({
      url,
      queue,
      deadlineMs: 1_000,
      onWarning: () => undefined,
      onBreaker: (change) => changes.push(`${change.open} ${change.reason}`),
    });
    context.after(() => one.close());
    const asked = async (): Promise<string> => {
      const { source, cause, ranking } = await one.rerank(question({ memories: memories() }));
      assert.equal(ranking.length, 4);
      return cause ?? source;
    };
    assert.equal(await asked(), "redis_unavailable");
    // When it comes
    const second = await stand.valkey(port);
    await stand.worker(queue, { ranker: "jev" });
    await until(async () => (await asked()) === "model");
    // When it hangs
    await stand.signal(second.pid, "SIGSTOP");
    assert.equal(await asked(), "redis_unavailable");
    await until(async () => !(await one.ready()));
    await stand.signal(second.pid, "SIGCONT");
    await until(async () => (await asked()) === "model");
    // When it is killed with a call in flight
    const [call] = [asked(), await stand.signal(second.pid, "SIGKILL")];
    assert.ok(["model", "redis_unavailable", "deadline"].includes(await call));
    await until(async () => (await asked()) === "redis_unavailable");
    // Then the hook was told
    assert.deepEqual([changes[0], changes.at(-1)], ["true redis", "true redis"]);
    assert.ok(changes.includes("false "));
  });
});
