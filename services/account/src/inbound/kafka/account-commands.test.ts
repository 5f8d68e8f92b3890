import { CommandMessage } from "@kapi/contracts";
import { systemClock } from "@kapi/kernel";
import { commandMessage } from "@kapi/testkit";
import { expect, it } from "vitest";

import type { ChangeOutcome } from "../../domain/account-change.ts";
import { queuedOperations } from "../../operations/queued-operations.ts";
import { type AccountCommandsOptions, createAccountCommands } from "./account-commands.ts";

class NotSent extends Error {}

it("commands whose call was not sent are retried; other commands of the batch keep their outcomes", async () => {
  const notSent = (): Promise<never> => Promise.reject(new NotSent("not sent"));
  const creations: Pick<AccountCommandsOptions["creations"], "createTradingAccounts" | "passwordOf" | "clock"> = {
    createTradingAccounts: () => Promise.resolve([{ outcome: { kind: "closed" }, account: null }]),
    passwordOf: () => "",
    clock: systemClock,
  };
  const changes: Pick<
    AccountCommandsOptions["changes"],
    "changeTradingAccounts" | "settleTradingAccounts" | "operations"
  > = {
    changeTradingAccounts: notSent,
    settleTradingAccounts: notSent,
    operations: queuedOperations(() => ""),
  };
  const executor = createAccountCommands({
    creations: creations as AccountCommandsOptions["creations"],
    changes: changes as AccountCommandsOptions["changes"],
    changer: { settle: notSent },
    isUnreachable: () => false,
    isNotSent: (error) => error instanceof NotSent,
  });
  const creation = commandMessage({
    operation: "account.create",
    accountNumber: null,
    payload: { accountName: "Trader", leverage: 100, initialBalance: 0 },
  });
  const disabling = commandMessage({ operation: "account.disable", payload: {} });
  const commands = [creation, disabling].map((message) => ({ message: CommandMessage.parse(message), attempt: 1 }));
  expect(await executor.execute(creation.serverId, commands)).toEqual([
    { kind: "closed" },
    { kind: "retry", reason: "not sent" },
  ]);
});

it("a sent command of an unknown operation is retried, unless the trading server closed its reference", async () => {
  const outcomes: ChangeOutcome[] = [
    { kind: "closed" },
    { kind: "applied", event: null },
    { kind: "refused", errorCode: "REJECTED_BY_SERVER", reason: "a part of the change was applied" },
  ];
  const settled: string[] = [];
  const executor = createAccountCommands({
    creations: {} as AccountCommandsOptions["creations"],
    changes: { operations: new Map() } as unknown as AccountCommandsOptions["changes"],
    changer: {
      settle: (_serverId, references) => {
        settled.push(...references);
        return Promise.resolve(outcomes);
      },
    },
    isUnreachable: () => false,
    isNotSent: () => false,
  });
  // A newer process sent these commands. Then this process takes them over.
  const commands = outcomes.map(() => ({
    message: CommandMessage.parse(commandMessage({ operation: "account.flatten", payload: {} })),
  }));
  const reason = "this version cannot carry out account.flatten: the command waits for a newer process";
  expect(await executor.settle("server", commands)).toEqual([
    { kind: "closed" },
    { kind: "retry", reason },
    { kind: "retry", reason },
  ]);
  expect(settled).toEqual(commands.map(({ message }) => message.commandId));
});
