import { OPERATIONS, queuedCommand } from "@kapi/contracts";
import { commandMessage, keyEntry } from "@kapi/testkit";
import { expect, it, vi } from "vitest";

import type { Call } from "./call.ts";
import { getCommand } from "./get-command.ts";
import type { Needs } from "./needs.ts";

const MESSAGE = commandMessage({ operation: "account.history_export" });
const ANOTHER_SERVER = "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a02";
const BODY = Buffer.from(JSON.stringify({ command: queuedCommand(MESSAGE) }));

const read = vi.fn<() => Promise<Buffer | null>>();
const wait = vi.fn<() => Promise<Buffer | null>>();
const admit = vi.fn(() => Promise.resolve({ charged: 1, remaining: 9 }));
const operation = getCommand({
  commandStatus: { read, wait },
  admission: { admit, recordedMessage: () => Promise.resolve(MESSAGE) },
  directory: { prices: () => ({ read: 1 }) },
  clock: { nowMs: () => Date.now() },
  isStopping: () => false,
} as unknown as Needs);

function callOf(serverIds: readonly string[] | null, query: object = {}): Call {
  const { entry: key } = keyEntry({
    organizationId: MESSAGE.organizationId,
    serverIds: serverIds === null ? null : [...serverIds],
  });
  const params = { commandId: MESSAGE.commandId };
  const contract = OPERATIONS.getCommand;
  return { operation: "getCommand", contract, key, params, query, admitted: null } as unknown as Call;
}

it.each([
  ["command-status has", BODY],
  ["only its claim has", null],
])("a command that %s is shown to keys that reach its server, and is 404 for another", async (_what, stored) => {
  read.mockResolvedValue(stored);
  for (const serverIds of [null, [MESSAGE.serverId], [ANOTHER_SERVER, MESSAGE.serverId]]) {
    expect(await operation(callOf(serverIds))).toEqual({ status: 200, body: BODY });
  }
  for (const serverIds of [[], [ANOTHER_SERVER]]) {
    const call = callOf(serverIds);
    await expect(operation(call)).rejects.toMatchObject({ status: 404, code: "COMMAND_NOT_FOUND" });
    // It costs what a command that does not exist costs.
    expect(call.admitted).toEqual({ charged: 1, remaining: 9 });
  }
});

it("nobody waits for a command of a server that the key does not reach", async () => {
  read.mockResolvedValue(BODY);
  wait.mockResolvedValue(BODY);
  await expect(operation(callOf([ANOTHER_SERVER], { wait: "30" }))).rejects.toMatchObject({ status: 404 });
  expect(wait).not.toHaveBeenCalled();
});

it("of what a caller wrote nothing is taken for the command's server", async () => {
  const payload = { serverId: ANOTHER_SERVER, command: { serverId: ANOTHER_SERVER } };
  const command = { ...queuedCommand(MESSAGE), payload, idempotencyKey: `","serverId":"${ANOTHER_SERVER}` };
  read.mockResolvedValue(Buffer.from(JSON.stringify({ command })));
  await expect(operation(callOf([ANOTHER_SERVER]))).rejects.toMatchObject({ status: 404 });
});
