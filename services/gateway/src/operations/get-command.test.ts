import type { Admission } from "@kapi/admission";
import { DEFAULT_PRICES, OPERATIONS, type Prices, queuedCommand } from "@kapi/contracts";
import { delay, OrganizationSlots, systemClock } from "@kapi/kernel";
import { commandMessage, keyEntry } from "@kapi/testkit";
import { afterEach, expect, it, vi } from "vitest";

import { type Call, operationCaller } from "./call.ts";
import { getCommand } from "./get-command.ts";
import { RequestCharge } from "./request-charge.ts";
import { WAIT_SLICE_MS } from "./wait.ts";

const MESSAGE = commandMessage({ operation: "account.history_export" });
const HOUR_MS = 3_600_000;
const ANOTHER_SERVER = "0b0f4f0e-5a4e-4c39-8a39-1d8f0a8f0a02";
const BODY = Buffer.from(JSON.stringify({ command: queuedCommand(MESSAGE) }));

const read = vi.fn<() => Promise<Buffer | null>>();
const wait = vi.fn<() => Promise<Buffer | null>>();
const admit = vi.fn(() => Promise.resolve({ charged: 1, remaining: 9 }));
const operation = getCommand({
  commandStatus: { read, wait },
  admission: { recordedMessage: () => Promise.resolve(MESSAGE) },
  isStopping: () => false,
  waits: new OrganizationSlots({ perOrganization: 1 }),
});

afterEach(() => vi.useRealTimers());

function callOf(serverIds: readonly string[] | null, query: object = {}): Call {
  const { entry } = keyEntry({
    organizationId: MESSAGE.organizationId,
    serverIds: serverIds === null ? null : [...serverIds],
  });
  const params = { commandId: MESSAGE.commandId };
  const contract = OPERATIONS.getCommand;
  const caller = operationCaller(entry);
  const request = { operation: "getCommand", contract, caller, requestId: "r", address: null } as const;
  const prices = (): Prices => DEFAULT_PRICES;
  const admission = { admit, refund: vi.fn<() => never>() } as unknown as Pick<Admission, "admit" | "refund">;
  const charge = new RequestCharge(
    { admission, refunds: { add: vi.fn<() => never>() }, prices, clock: systemClock },
    request,
  );
  const connection = { destroyed: false, once: () => undefined };
  return { ...request, charge, params, query, connection } as unknown as Call;
}

it.each([
  ["command-status has", BODY],
  ["only an idempotency record has", null],
])("a command that %s is shown to keys for its server, and is 404 for other keys", async (_what, stored) => {
  read.mockResolvedValue(stored);
  for (const serverIds of [null, [MESSAGE.serverId], [ANOTHER_SERVER, MESSAGE.serverId]]) {
    expect(await operation(callOf(serverIds))).toEqual({ status: 200, body: BODY });
  }
  for (const serverIds of [[], [ANOTHER_SERVER]]) {
    const call = callOf(serverIds);
    await expect(operation(call)).rejects.toMatchObject({ status: 404, code: "COMMAND_NOT_FOUND" });
    // The request costs the same as the read of a command that does not exist.
    expect(call.charge.admitted).toEqual({ charged: 1, remaining: 9 });
  }
});

it("a command of a server that the key does not reach is 404 without a wait", async () => {
  read.mockResolvedValue(BODY);
  wait.mockResolvedValue(BODY);
  await expect(operation(callOf([ANOTHER_SERVER], { wait: "30" }))).rejects.toMatchObject({ status: 404 });
  expect(wait).not.toHaveBeenCalled();
});

it("a wait ends after its time, also if the clock is set back meanwhile", async () => {
  vi.useFakeTimers();
  read.mockResolvedValue(BODY);
  wait.mockReset().mockImplementation(async () => {
    vi.setSystemTime(Date.now() - HOUR_MS);
    await delay(WAIT_SLICE_MS);
    return BODY;
  });
  const answer = operation(callOf(null, { wait: String((2 * WAIT_SLICE_MS) / 1_000) }));
  await vi.advanceTimersByTimeAsync(3 * WAIT_SLICE_MS);
  expect(wait).toHaveBeenCalledTimes(2);
  expect(await answer).toEqual({ status: 200, body: BODY });
});

it("a server id in text that the caller sent is not taken as the command's server", async () => {
  const payload = { serverId: ANOTHER_SERVER, command: { serverId: ANOTHER_SERVER } };
  const command = { ...queuedCommand(MESSAGE), payload, idempotencyKey: `","serverId":"${ANOTHER_SERVER}` };
  read.mockResolvedValue(Buffer.from(JSON.stringify({ command })));
  await expect(operation(callOf([ANOTHER_SERVER]))).rejects.toMatchObject({ status: 404 });
});
