import { CommandMessage, type ServerEntry } from "@kapi/contracts";
import { commandMessage } from "@kapi/testkit";
import { expect, it } from "vitest";

import { createFundsExecutor, type MoveFundsOptions } from "./move-funds.ts";

class NotSent extends Error {}

/** An executor whose calls to the trading server fail with `reason`. */
function executor(reason: Error) {
  const fails = (): Promise<never> => Promise.reject(reason);
  const options: Pick<MoveFundsOptions, "client" | "serverOf" | "isUnreachable" | "isNotSent"> = {
    client: { change: fails, settle: fails },
    serverOf: () => ({ status: "active" }) as ServerEntry,
    isUnreachable: () => false,
    isNotSent: (cause) => cause instanceof NotSent,
  };
  return createFundsExecutor(options as MoveFundsOptions);
}

it("the executor of deposits and withdrawals retries commands whose call was not sent, and throws if a call got no clear answer", async () => {
  const message = CommandMessage.parse(commandMessage());
  const commands = [{ message, attempt: 1 }];
  const retry = [{ kind: "retry", reason: "not sent" }];
  expect(await executor(new NotSent("not sent")).execute(message.serverId, commands)).toEqual(retry);
  expect(await executor(new NotSent("not sent")).settle(message.serverId, commands)).toEqual(retry);
  await expect(executor(new Error("no answer")).execute(message.serverId, commands)).rejects.toThrow("no answer");
});
