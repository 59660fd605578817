import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { blake2b } from "../src/protocol/blake2b.js";
import * as keys from "../src/protocol/keys.js";
import { vectors } from "./vectors.js";

describe("names of keys", () => {
  const all = vectors<Record<"queue" | "user" | keyof typeof keys, string>[]>("keys");
  for (const one of all) {
    it(`are Python's for ${one.queue} and a user of ${one.user.length} characters`, () => {
      const { queue, user } = one;
      assert.equal(keys.breakerKey(queue), one.breakerKey);
      assert.equal(keys.cancelKey(queue, "job"), one.cancelKey);
      assert.equal(keys.ownKey(queue, "runtime"), one.ownKey);
      assert.equal(keys.replyKey(queue, "name"), one.replyKey);
      assert.equal(keys.workerKey(queue, "w@h"), one.workerKey);
      assert.equal(keys.workersKey(queue), one.workersKey);
      assert.equal(keys.decksKey(queue, user), one.decksKey);
      assert.equal(keys.forgottenKey(queue, user), one.forgottenKey);
    });
  }

  it("hold digests that are OpenSSL's where that has them", () => {
    for (const length of [0, 1, 127, 128, 129, 300]) {
      const text = "é".repeat(length);
      assert.equal(blake2b(text, 64), createHash("blake2b512").update(text).digest("hex"));
    }
  });
});
