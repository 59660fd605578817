import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { SettingsError } from "../src/errors.js";
import { Reranker } from "../src/reranker.js";
import { type Options, keptFor, readSettings } from "../src/settings.js";

describe("a URL that cannot be read", () => {
  for (const url of ["redis://user:secret@", "redis://:secret@host/many", "redis://user:secret@host:port"]) {
    it(`is refused without its password: ${url.replace("secret", "***")}`, () => {
      assert.throws(() => new Reranker({ url }), (error) => {
        assert.ok(error instanceof SettingsError && error.message.startsWith("url: "));
        return !inspect(error).includes("secret");
      });
    });
  }
});

describe("settings", () => {
  it("come from options, then the environment, then defaults", () => {
    const environment = { MEMSIFT_DEADLINE_MS: "900", MEMSIFT_TOP_K: "5", MEMSIFT_QUEUE: "{q}", MEMSIFT_REDIS_URL: "" };
    const found = readSettings({ topK: 2 }, environment);
    assert.deepEqual([found.topK, found.deadlineMs, found.queue, found.weightVector], [2, 900, "{q}", 0.6]);
    assert.equal(found.url, "redis://127.0.0.1:6379/0");
  });

  it("keep 20 candidates, and all for jev and chains that begin with it", () => {
    const kept = (options: Options, ranker: string | null): number => keptFor(readSettings(options, {}), ranker);
    assert.deepEqual([null, "local", "jev", "jev>local"].map((ranker) => kept({}, ranker)), [20, 20, 200, 200]);
    assert.deepEqual([kept({ prefilterKeep: 7 }, "jev"), kept({ prefilterKeep: "all" }, null)], [7, 200]);
  });

  for (const [name, options, environment] of [
    ["MEMSIFT_DEADLINE_MS", {}, { MEMSIFT_DEADLINE_MS: "soon" }],
    ["deadlineMs", { deadlineMs: 0 }, {}],
    ["deadlineMs", { deadlineMs: 1.5 }, {}],
    ["halfLifeDays", { halfLifeDays: 0 }, {}],
    ["topK", { topK: 201 }, {}],
    ["url", { url: "http://secret@host" }, {}],
    ["url", { url: "sentinel://secret@host/m" }, {}],
    ["queue", { queue: "" }, {}],
    ["prefilterKeep", {}, { MEMSIFT_PREFILTER_KEEP: "most" }],
    ["weightVector", { weightVector: 0, weightRecency: 0, weightKeyword: 0 }, {}],
  ] as [string, Options, NodeJS.ProcessEnv][]) {
    it(`are refused by name: ${name} ${JSON.stringify(options)}`, () => {
      assert.throws(() => readSettings(options, environment), (error) => {
        return error instanceof SettingsError && error.message.startsWith(name) && !/secret/.test(error.message);
      });
    });
  }
});
