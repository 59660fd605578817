import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SettingsError } from "../src/errors.js";
import { Unreadable } from "../src/protocol/reply.js";
import { KeyRing, clearReply } from "../src/protocol/sealing.js";
import { vectors } from "./vectors.js";

const { seal_keys, job, reply } = vectors<{
  seal_keys: string;
  job: { id: string; clear: string; argument: string };
  reply: { id: string; clear: string; raw: string };
}>("sealed");
const [first, second] = seal_keys.split(",") as [string, string];
const open = (keys: string, raw: string): string => new KeyRing(keys).openReply(raw);
const changed = (raw: string, change: object): string => JSON.stringify({ ...JSON.parse(raw), ...change });
/** What a job sealed here is once it is opened: a reply differs in its direction alone. */
const REFUSAL = '{"v":1,"refusal":{"job_id":"a","cause":"expired"}}';

describe("a sealed payload", () => {
  it("that Python sealed is opened here, whichever key seals now", () => {
    assert.equal(open(seal_keys, reply.raw), reply.clear);
    assert.equal(open(`${second},${first}`, reply.raw), reply.clear);
  });

  it("names its key and reply list, and no text", () => {
    // When a job is sealed twice
    const ring = new KeyRing(seal_keys);
    const [one, other] = [1, 2].map(() => JSON.parse(ring.sealJob(job.clear, job.id, "q:reply:x")));
    // Then it is as long as Python's, and never the same
    assert.deepEqual([one.v, one.key, one.reply_to], [1, "k1", "q:reply:x"]);
    assert.equal(one.sealed.length, JSON.parse(job.argument).sealed.length);
    assert.notEqual(one.sealed, other.sealed);
  });

  for (const [name, raw] of Object.entries({
    "of another job": changed(reply.raw, { id: "another" }),
    "of the other direction": changed(reply.raw, { sealed: JSON.parse(job.argument).sealed }),
    "with a byte changed": changed(reply.raw, { sealed: JSON.parse(reply.raw).sealed.replace(/.$/, "A").replace(/^./, "Z") }),
    "too short": changed(reply.raw, { sealed: "AAAA" }),
    "that is none": changed(reply.raw, { sealed: 7 }),
    "of an unknown key": changed(reply.raw, { key: "k9" }),
    "of an unknown version": changed(reply.raw, { v: 2 }),
    "that should be sealed": reply.clear,
  })) {
    it(`is not opened: one ${name}`, () => {
      assert.throws(() => open(seal_keys, raw), Unreadable);
    });
  }

  it("tells a process without keys to get them", () => {
    assert.throws(() => clearReply(reply.raw), /set sealKeys/);
    assert.equal(clearReply(reply.clear), reply.clear);
  });

  it("is not needed for a refusal", () => {
    assert.equal(open(seal_keys, REFUSAL), REFUSAL);
  });

  for (const wrong of ["", "k1", "k1:short", `${first},${first}`, "a b:00", `${first}:more`]) {
    it(`wants keys that are keys: ${wrong.slice(0, 12)}`, () => {
      assert.throws(() => new KeyRing(wrong), SettingsError);
    });
  }
});
