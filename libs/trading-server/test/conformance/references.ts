import { randomUUID } from "node:crypto";

import { describe, expect, it } from "vitest";

import { type Bench, deposit, withdrawal, resultOf } from "./bench.ts";

const CONCURRENCY = 20;

/** Tests that the first outcome of a reference is final. */
export function addReferenceTests(bench: Bench): void {
  describe("a reference", () => {
    it("gives a repeat of its change the first outcome, and the repeat changes nothing", async () => {
      const account = await bench.account();
      const reference = randomUUID();
      const first = await bench.change(account, deposit(500), reference);
      expect(first).toMatchObject({ status: "applied", event: { reference, sequence: 2, balanceMinor: 500 } });
      expect(await bench.change(account, deposit(500), reference)).toEqual(first);
      expect(await bench.balanceMinor(account)).toBe(500);
    });

    it("applies its change once, also if the change is sent concurrently, and twice in one batch", async () => {
      const account = await bench.account();
      const change = { reference: randomUUID(), accountNumber: account, ...deposit(500) } as const;
      const answers = await Promise.all(Array.from({ length: CONCURRENCY }, () => bench.changes([change, change])));
      expect(new Set(answers.flat().map((outcome) => JSON.stringify(outcome))).size).toBe(1);
      expect(await bench.balanceMinor(account)).toBe(500);
    });

    it("keeps its rejection, even when the reason for the rejection no longer holds", async () => {
      const account = await bench.account();
      const reference = randomUUID();
      const first = await bench.change(account, withdrawal(100), reference);
      expect(resultOf(first)).toBe("INSUFFICIENT_FUNDS");
      await bench.change(account, deposit(1_000));
      expect(await bench.change(account, withdrawal(100), reference)).toEqual(first);
      expect(await bench.client.settle(bench.serverId, [reference])).toEqual([first]);
      expect(await bench.balanceMinor(account)).toBe(1_000);
    });

    it("without an outcome is closed when it is settled, so that its change can never apply", async () => {
      const account = await bench.account();
      const reference = randomUUID();
      const closed = { reference, status: "closed" };
      expect(await bench.client.settle(bench.serverId, [reference])).toEqual([closed]);
      expect(await bench.change(account, deposit(500), reference)).toEqual(closed);
      expect(await bench.client.settle(bench.serverId, [reference])).toEqual([closed]);
      expect(await bench.balanceMinor(account)).toBe(0);
    });

    it("with an outcome is not changed by a settlement, which returns the outcome with its event", async () => {
      const account = await bench.account();
      const applied = await bench.change(account, deposit(500));
      const nothingDone = await bench.change(account, { type: "set_status", status: "active" });
      expect(resultOf(nothingDone)).toBe("unchanged");
      const references = [applied.reference, nothingDone.reference];
      expect(await bench.client.settle(bench.serverId, references)).toEqual([applied, nothingDone]);
    });

    it("has the same outcome for a change and a settlement that are sent at the same time", async () => {
      const account = await bench.account();
      let applied = 0;
      for (let round = 0; round < CONCURRENCY; round += 1) {
        const reference = randomUUID();
        const [changed, [settled]] = await Promise.all([
          bench.change(account, deposit(1), reference),
          bench.client.settle(bench.serverId, [reference]),
        ]);
        expect(changed).toEqual(settled);
        if (changed.status === "applied") applied += 1;
      }
      expect(await bench.balanceMinor(account)).toBe(applied);
    });
  });

  describe("batches", () => {
    it("give one outcome for each change, in order, and carry out the changes of an account in order", async () => {
      const [first, second] = [await bench.account(), await bench.account()];
      const outcomes = await bench.changes([
        { reference: randomUUID(), accountNumber: first, ...deposit(300) },
        { reference: randomUUID(), accountNumber: second, ...withdrawal(1) },
        { reference: randomUUID(), accountNumber: first, ...withdrawal(300) },
        { reference: randomUUID(), accountNumber: first, ...withdrawal(1) },
      ]);
      expect(outcomes.map(resultOf)).toEqual([
        "balance.changed",
        "INSUFFICIENT_FUNDS",
        "balance.changed",
        "INSUFFICIENT_FUNDS",
      ]);
    });

    it("reject an invalid change, and apply the others", async () => {
      const account = await bench.account();
      const broken = { reference: randomUUID(), accountNumber: account, ...deposit(-5) };
      const good = { reference: randomUUID(), accountNumber: account, ...deposit(5) };
      const outcomes = await bench.changes([broken, good]);
      expect(outcomes.map(resultOf)).toEqual(["INVALID_CHANGE", "balance.changed"]);
    });
  });
}
