/** Deletions that end only after a restart or after failed attempts: `npm run verify -- long`. */
import { statement } from "@kapi/postgres";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createGapRepository } from "../src/outbound/postgres/gap-repository.ts";
import { DeletionEnvironment, GONE } from "./deletion-environment.ts";
import type { Harness } from "./harness.ts";

let deletion: DeletionEnvironment;
let env: Harness;
beforeAll(async () => {
  deletion = await DeletionEnvironment.start();
  env = deletion.harness;
});
afterAll(() => deletion.stop());

describe("the queued deletion", () => {
  it.each(["deletion-trading-server", "in-transaction"])(
    "whose process is killed at %s is completed by the next process",
    async (point) => {
      const account = await env.account();
      await env.restart(`account.${point}`);
      const { commandId } = await env.publish(account, "account.delete");
      await env.died();
      await env.restart();
      expect(await env.final(commandId)).toMatchObject({ status: "succeeded", result: { deleted: true } });
      await deletion.expectGone(account);
      await deletion.expectPublishedOnce(account);
    },
  );
});

describe("the immediate deletion", () => {
  const steps = ["marked", "settled", "trading-server", "history", "finance", "metrics", "finished"];
  it.each(steps)("whose process is killed after %s is completed by the retry", async (step) => {
    const account = await deletion.accountWithPosition();
    await env.restart(`account.deletion-${step}`);
    await expect(env.delete(account)).rejects.toThrow("fetch failed");
    await env.died();
    await env.restart();
    expect(await env.delete(account)).toMatchObject({ status: 200, body: { deleted: true } });
    await deletion.expectGone(account);
    await deletion.expectPublishedOnce(account);
  });
});

describe("a deletion that the trading server has carried out", () => {
  /** Makes the service resume the deletion until the deletion is completed. */
  async function ended(account: string): Promise<void> {
    const onceMore = async (): Promise<void> => {
      await deletion.makeDue();
      expect(await env.details(account)).toMatchObject(GONE);
    };
    await eventually(onceMore, { timeoutMs: 50_000, intervalMs: 500 });
  }

  it("is completed without the account's last events if several attempts to book them fail", async () => {
    const account = await env.account();
    const broken = `alter table orders add check (account_number <> '${account}') not valid`;
    await deletion.database.query(statement<never>("test-park-account", broken), []);
    await env.openPosition(account);
    expect(await env.delete(account)).toMatchObject({ status: 500, code: "DEPENDENCY_UNAVAILABLE" });
    expect.soft(await createGapRepository(deletion.database).count(10)).toBe(1);
    await ended(account);
    await deletion.expectGone(account);
    const published = (): string[] => env.eventsOf(account).map(({ type }) => type);
    await eventually(() => expect(published()).toEqual(["account.created", "account.deleted"]));
    expect((await env.delete(account)).status).toBe(200);
  });

  it("is completed, with its queued command, although the account's last events are unavailable", async () => {
    const account = await env.account();
    await deletion.placeLimit(account);
    await env.fault({ kind: "unreachable", accountNumber: account, operation: "history", count: null });
    await env.fault({ kind: "unreachable", accountNumber: account, operation: "sequence", count: null });
    const { commandId } = await env.publish(account, "account.delete");
    await ended(account);
    expect(await env.final(commandId)).toMatchObject({ status: "succeeded", result: { deleted: true } });
    await deletion.expectGone(account);
    await env.control("DELETE", "/faults");
  });
});
