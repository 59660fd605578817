import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ServerClock } from "../src/clock.js";
import { Admission } from "../src/queue/admission.js";
import { Breaker } from "../src/queue/breaker.js";
import { type Reading, UNREAD } from "../src/queue/breaker-state.js";
import { readCard, throughput } from "../src/queue/cards.js";
import { readSettings } from "../src/settings.js";

const settings = readSettings({ breakerFailures: 3, breakerProbeMs: 100 }, {});
const reading = (more: Partial<Reading> = {}): Reading => ({ ...UNREAD, workers: ["w@h"], ...more });

function breaker(first = reading()): Breaker {
  const made = new Breaker(settings, new ServerClock());
  made.learn(first, null);
  return made;
}

describe("the breaker of one process", () => {
  it("is open until Redis has answered, and when it is lost", async () => {
    const one = new Breaker(settings, new ServerClock());
    assert.deepEqual(await one.admit(400), { refused: "redis_unavailable" });
    one.learn(reading(), null);
    assert.deepEqual(await one.admit(400), { probe: "" });
    one.lost();
    assert.deepEqual(await one.admit(400), { refused: "redis_unavailable" });
  });

  it("opens before Redis says so, by what others and this one failed since the last answer", async () => {
    // Given one failure elsewhere
    const one = breaker(reading({ failures: 1 }));
    // When two fail here
    one.record("", "deadline", 400, 400);
    assert.ok(one.isAnxious && !one.isOpen);
    one.record("", "runtime_timeout", 400, 400);
    // Then
    assert.ok(one.isOpen);
    // And an answer ends the run
    one.record("", null, 10, 400);
    assert.ok(!one.isOpen);
    assert.equal(one.report().tally.answers, 1);
  });

  for (const cause of ["overloaded", "queue_full", "too_late", "invalid_job", "unknown_ranker"] as const) {
    it(`counts no ${cause}`, () => {
      const one = breaker();
      one.record("", cause, 400, 400);
      assert.equal(one.report().tally.failed.length, 0);
    });
  }

  it("counts no impatient call while workers are present", () => {
    const one = breaker();
    one.record("", "deadline", 20, 20);
    assert.equal(one.report().tally.failed.length, 0);
    one.record("", "ranker_error", 20, 20);
    assert.equal(one.report().tally.failed.length, 1);
  });

  it("sends one probe when it is due and granted, and tells how it went", async () => {
    // Given
    const open = reading({ open: true, failures: 3, nextProbe: 0 });
    const one = breaker(open);
    // When two calls come
    const [first, second] = [one.admit(400), one.admit(400)];
    assert.deepEqual(await second, { refused: "breaker_open" });
    const { claim } = one.report();
    one.learn({ ...open, granted: true }, claim);
    // Then one is the probe
    const admitted = await first;
    assert.ok("probe" in admitted && admitted.probe === claim?.token);
    one.record(admitted.probe, null, 10, 400);
    assert.deepEqual(one.report().ended, { token: admitted.probe, how: "ok" });
  });

  it("gives a probe back that nobody waits for any more", async () => {
    const open = reading({ open: true, failures: 3 });
    const one = breaker(open);
    const call = one.admit(5);
    const { claim } = one.report();
    assert.deepEqual(await call, { refused: "breaker_open" });
    one.learn({ ...open, granted: true }, claim);
    assert.deepEqual(one.report().ended, { token: claim?.token, how: "void" });
  });

  it("sends none before it is due, or while another is out", async () => {
    const soon = Date.now() + 60_000;
    for (const more of [{ nextProbe: soon }, { probeUntil: soon }]) {
      const one = breaker(reading({ open: true, failures: 3, ...more }));
      assert.deepEqual(await one.admit(400), { refused: "breaker_open" });
    }
  });
});

describe("admission", () => {
  const clock = new ServerClock();
  const waiting = (depth: number, agoMs: number) => {
    const sent = clock.now() - agoMs;
    return { depth, oldestSentAt: sent, oldestExpiresAt: sent + 60_000 };
  };
  const card = readCard("k", '{"jobs_per_s": 100, "batch_ms": 20}');

  it("refuses what could not be answered behind those that wait", () => {
    const one = new Admission(clock);
    one.learnCards([card]);
    // 30 jobs at 100 a second, and two and a half batches of 20 ms: 350 ms
    one.learn(reading({ waiting: [waiting(20, 0), waiting(10, 0)] }));
    assert.ok(!one.admits(340) && one.admits(360));
    // 100 before it, and the oldest has waited for two seconds: the worker has stopped
    one.learn(reading({ waiting: [waiting(20, 2_000)] }));
    assert.ok(!one.admits(2_000));
  });

  it("refuses nothing without workers, without a backlog, or behind what expired long ago", () => {
    const one = new Admission(clock);
    one.learnCards([card]);
    one.learn(reading({ workers: [], waiting: [waiting(500, 0)] }));
    assert.ok(one.admits(1));
    one.learn(reading({ waiting: [waiting(0, 0)] }));
    assert.ok(one.admits(1));
    one.learn(reading({ waiting: [{ depth: 1, oldestSentAt: 1, oldestExpiresAt: 2 }] }));
    assert.ok(one.admits(100));
  });

  it("reads of cards what they say, and nothing of what is no card", () => {
    assert.deepEqual([card.jobsPerS, card.batchMs, card.runtime], [100, 20, ""]);
    for (const raw of [null, "nonsense", "[]", '"x"', '{"jobs_per_s": "many"}']) {
      assert.equal(readCard("k", raw).jobsPerS, 0);
    }
    assert.equal(throughput([card, readCard("k", "{}")]), 200);
  });
});
