import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobTooLarge } from "../src/errors.js";
import type { RerankJob } from "../src/generated/job.js";
import { encodeJob } from "../src/protocol/job.js";
import { buildMessage } from "../src/protocol/message.js";
import { type Named, vectors } from "./vectors.js";

interface Vector extends Named {
  queue: string;
  job: RerankJob;
  encoded: unknown;
  message: string;
}

const jobs = vectors<Vector[]>("jobs");

describe("a job on its way", () => {
  for (const { name, job, encoded } of jobs) {
    it(`is encoded as in Python: ${name}`, () => {
      assert.deepEqual(JSON.parse(encodeJob(job)), encoded);
    });
  }

  for (const { name, queue, job, message } of jobs.filter((one) => !one.job.warm)) {
    it(`is wrapped as in Python: ${name}`, () => {
      // Given Python's message, and ours around the same job
      const [theirs, ours] = [message, buildMessage(job, encodeJob(job), queue)].map(unwrapped);
      // Then they differ in who sent it alone
      assert.match(ours?.headers.origin ?? "", /^memsift-\d+@/);
      assert.deepEqual(ours, { ...theirs, headers: { ...theirs?.headers, ...sender(ours) } });
    });

    it(`shows frontends when it was sent and expires: ${name}`, () => {
      // The pattern of the script that looks at the oldest waiting message's end.
      const found = /,"expires":"([^"]+)","sent_at":([\d.]+)/.exec(buildMessage(job, "{}", queue));
      assert.equal(Date.parse(found?.[1] ?? ""), Math.trunc(job.deadline * 1e3));
      assert.equal(Number(found?.[2]), job.sent_at);
    });
  }

  it("is refused at the door over 256 KiB, and no text is told", () => {
    // Given more than a message may hold
    const job = jobs[0]?.job as RerankJob;
    const memory = { id: "m", text: "private ".repeat(250), created_at: null };
    const heavy = { ...job, candidates: Array.from({ length: 150 }, () => memory) };
    // Then
    assert.throws(() => encodeJob(heavy), (error) => {
      return error instanceof JobTooLarge && /fewer/.test(error.message) && !/private/.test(error.message);
    });
  });
});

function unwrapped(raw: string): { body: unknown; headers: Record<string, string>; properties: unknown } {
  const message = JSON.parse(raw);
  const expires = new Date(message.headers.expires).toISOString();
  return { ...message, body: JSON.parse(message.body), headers: { ...message.headers, expires } };
}

function sender(message: { headers: Record<string, string> } | undefined): Record<string, string | undefined> {
  return { lang: "js", origin: message?.headers.origin };
}
