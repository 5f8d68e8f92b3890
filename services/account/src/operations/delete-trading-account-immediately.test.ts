import { TestClock } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { ChangeOutcome, ReferencedChange } from "../domain/account-change.ts";
import type { Account } from "../domain/account.ts";
import type { DeletionState } from "../domain/ports.ts";
import { deleteTradingAccountImmediately } from "./delete-trading-account-immediately.ts";

type Ports = Parameters<typeof deleteTradingAccountImmediately>[0];

const ACCOUNT = {
  id: "0b7e9a52-5f5f-4f6f-9f6f-0b7e9a525f5f",
  serverId: "11111111-1111-4111-8111-111111111111",
  accountNumber: "10000001",
  status: "deleting",
} as Account;

/**
 * Deletes an account as often as the trading server has outcomes. Returns the references of the
 * attempts, and the errors.
 */
async function deletions(outcomes: readonly ChangeOutcome[]) {
  const references: string[] = [];
  const errors: string[] = [];
  let rejections = 0;
  let isFinished = false;
  const none = (): Promise<void> => Promise.resolve();
  const ports = {
    clock: new TestClock(0),
    changer: {
      change: (_serverId: string, [change]: readonly ReferencedChange[]) => {
        references.push(change?.reference ?? "");
        return Promise.resolve([outcomes[references.length - 1]]);
      },
    },
    repository: {
      find: (): Promise<DeletionState> =>
        Promise.resolve({ account: ACCOUNT, lastCommand: null, open: null, rejections, createdBy: null }),
      noteRejection: async () => void (rejections += 1),
      bookedSequence: () => Promise.resolve(null),
      deleteHistory: none,
    },
    feed: { lastSequence: () => Promise.resolve(null) },
    externalData: { deleteFromFinance: none, deleteFromMetrics: none },
    announceCreation: none,
    finish: async () => void (isFinished = true),
  } as unknown as Ports;
  for (const _outcome of outcomes)
    await deleteTradingAccountImmediately(ports, ACCOUNT.serverId, ACCOUNT.accountNumber, null).catch((error: Error) =>
      errors.push(error.message),
    );
  return { references, errors, isFinished };
}

const APPLIED: ChangeOutcome = { kind: "applied", event: null };

it("an incomplete deletion continues with the same reference until it is applied", async () => {
  const incomplete: ChangeOutcome = { kind: "incomplete", reason: "the market of EURUSD is closed" };
  const { references, errors, isFinished } = await deletions([incomplete, incomplete, APPLIED]);
  expect(new Set(references).size).toBe(1);
  expect(errors).toEqual(Array(2).fill(expect.stringContaining("the market of EURUSD is closed")));
  expect(isFinished).toBe(true);
});

it("a rejected deletion is tried again with another reference", async () => {
  const refused: ChangeOutcome = { kind: "refused", errorCode: "INTERNAL", reason: "no" };
  const { references, errors, isFinished } = await deletions([refused, APPLIED]);
  expect(new Set(references).size).toBe(2);
  expect(errors).toEqual([expect.stringContaining("rejected the deletion: no")]);
  expect(isFinished).toBe(true);
});
