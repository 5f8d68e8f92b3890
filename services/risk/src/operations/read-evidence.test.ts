import { randomUUID } from "node:crypto";

import type { AccountRef } from "@kapi/contracts";
import { deferred, systemClock, toIso } from "@kapi/kernel";
import { describe, expect, it } from "vitest";

import type { AccountForRisk } from "../domain/ports.ts";
import { createIntervalEvidence } from "./read-evidence.ts";

/** A number of requests: more than the intervals that a process reads at once. */
const MANY = 10;

/**
 * The reads of one process, from a log that does not answer before `end`. The only server of each
 * organization has the organization's id.
 */
function start() {
  const ended = deferred<void>();
  let running = 0;
  const read = createIntervalEvidence({
    // The trading server does not answer.
    readAccount: ({ serverId }, query) =>
      query?.valuation === "none"
        ? Promise.resolve({ organizationId: serverId, currency: "USD" } as AccountForRisk)
        : Promise.reject(new Error("the values are unavailable")),
    readLog: async () => {
      running += 1;
      await ended.promise;
      running -= 1;
      const isCut = { valuations: false, samples: false };
      return () => ({ valuations: [], samples: [], isCut, isFull: false });
    },
    partitionOf: () => 0,
    signer: { keyId: "test", sign: () => Buffer.alloc(64) },
    clock: systemClock,
  });
  const to = systemClock.nowMs() - 1_000;
  return {
    /** Asks for an interval of the organization; resolves with "read" or the error's code. */
    ask: (organizationId: string): Promise<unknown> => {
      const account: AccountRef = { serverId: organizationId, accountNumber: "10000001" };
      return read(account, { from: toIso(to - 1_000), to: toIso(to) }).then(
        () => "read",
        (error: { code?: string }) => error.code,
      );
    },
    running: () => running,
    end: () => ended.resolve(),
  };
}

describe("evidence of intervals", () => {
  it("is read although the trading server does not answer", async () => {
    const { ask, end } = start();
    end();
    expect(await ask(randomUUID())).toBe("read");
  });

  it("is read for one organization while further requests of another organization, which has used its share, are rejected", async () => {
    const { ask, running, end } = start();
    const [one, other] = [randomUUID(), randomUUID()];
    const many = Array.from({ length: MANY }, () => ask(one));
    expect(await Promise.race(many)).toBe("TOO_MANY_CONCURRENT_REQUESTS");
    const share = running();
    const own = ask(other);
    await expect.poll(running).toBe(share + 1);
    end();
    expect(await own).toBe("read");
    expect((await Promise.all(many)).filter((answer) => answer === "read")).toHaveLength(share);
    expect(await ask(one)).toBe("read");
  });

  it("is read for a limited number of intervals at once, counted over all organizations", async () => {
    const { ask, running, end } = start();
    const asked = Array.from({ length: MANY }, () => ask(randomUUID()));
    expect(await Promise.race(asked)).toBe("TOO_MANY_CONCURRENT_REQUESTS");
    expect(running()).toBe(4);
    end();
    await Promise.all(asked);
  });
});
