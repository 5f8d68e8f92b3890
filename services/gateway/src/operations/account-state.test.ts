import type { Admission } from "@kapi/admission";
import { AccountStateAnswer, DateTime, DEFAULT_PRICES, OPERATIONS, type Prices } from "@kapi/contracts";
import { DependencyError } from "@kapi/http";
import { keyEntry, serverEntry } from "@kapi/testkit";
import { beforeEach, expect, it, vi } from "vitest";

import type { OpenPositionsAt, ReadLastSnapshot } from "../domain/ports.ts";
import { accountState } from "./account-state.ts";
import { type Call, operationCaller } from "./call.ts";
import { RequestCharge } from "./request-charge.ts";

const NOW = "2026-03-02T12:00:30.000Z";
const CLOCK = { nowMs: () => Date.parse(NOW) };
const CREATED_AT = "2026-03-01T09:00:00.250Z";
const SERVER = serverEntry();
const OPEN: OpenPositionsAt = { createdAt: CREATED_AT, currency: "USD", positionCount: 0, positions: [] };
/** `measuredAt` is the start of a minute; the equity may be from the end of that minute. */
const SNAPSHOTS = [
  { measuredAt: "2026-03-02T11:58:00.000Z", equity: 900.5 },
  { measuredAt: "2026-03-02T11:57:00.000Z", equity: 800 },
];

const openPositions = vi.fn<(serverId: string, accountNumber: string, at: string) => Promise<OpenPositionsAt | null>>();
const readBalance = vi.fn<() => Promise<number | null>>();
const find = vi.fn<() => Promise<string | null>>();
const readLastSnapshot: ReadLastSnapshot = async (_organizationId, _serverId, _accountNumber, before) => {
  // The owner rejects any other form of a time.
  DateTime.parse(before);
  return SNAPSHOTS.find(({ measuredAt }) => measuredAt < before) ?? null;
};
const admit = vi.fn(() => Promise.resolve({ charged: 1, remaining: 9 }));
const operation = accountState({
  accounts: { openPositions } as never,
  knownAccounts: { find } as never,
  readBalance,
  readLastSnapshot,
  clock: CLOCK,
});

beforeEach(() => {
  openPositions.mockReset().mockResolvedValue(OPEN);
  readBalance.mockReset().mockResolvedValue(1_000.25);
  find.mockReset().mockResolvedValue("id");
  admit.mockClear();
});

function callAt(at: string | undefined): Call {
  const { entry } = keyEntry({ organizationId: SERVER.organizationId });
  const params = { serverId: SERVER.serverId, accountNumber: "10000001" };
  const contract = OPERATIONS.getAccountState;
  const caller = operationCaller(entry);
  const request = { operation: "getAccountState", contract, caller, requestId: "r", address: null } as const;
  const prices = (): Prices => DEFAULT_PRICES;
  const admission = { admit, refund: vi.fn<() => never>() } as unknown as Pick<Admission, "admit" | "refund">;
  const charge = new RequestCharge(
    { admission, refunds: { add: vi.fn<() => never>() }, prices, clock: CLOCK },
    request,
  );
  return { ...request, server: SERVER, charge, params, query: at === undefined ? {} : { at } } as unknown as Call;
}

async function stateAt(at: string) {
  const { status, body } = await operation(callAt(at));
  expect(status).toBe(200);
  return AccountStateAnswer.strict().parse(JSON.parse(body as string)).state;
}

it("the state of an account can be read up to 5 s ahead, because the caller's clock may be ahead", async () => {
  expect(await stateAt("2026-03-02T12:00:35.000Z")).toMatchObject({
    at: "2026-03-02T12:00:35.000Z",
    balance: 1_000.25,
  });
});

it("the state of an account joins the answers of account, finance and metrics, and shows the time in UTC", async () => {
  expect(await stateAt("2026-03-02T14:00:00.123456+02:00")).toEqual({
    serverId: SERVER.serverId,
    accountNumber: "10000001",
    at: "2026-03-02T12:00:00.123Z",
    currency: "USD",
    balance: 1_000.25,
    positionCount: 0,
    positions: [],
    equity: { value: 900.5, measuredAt: "2026-03-02T11:58:00.000Z", ageMs: 120_123 },
  });
  const asked = [SERVER.serverId, "10000001", "2026-03-02T12:00:00.123Z"];
  expect(openPositions).toHaveBeenCalledExactlyOnceWith(...asked);
  expect(readBalance).toHaveBeenCalledExactlyOnceWith(...asked);
});

it.each([
  ["last millisecond of 11:58", "2026-03-02T11:58:59.999Z", 900.5, 59_999],
  ["last millisecond but one of 11:58", "2026-03-02T11:58:59.998Z", 800, 119_998],
  ["last millisecond of 11:57", "2026-03-02T11:57:59.999Z", 800, 59_999],
])(
  "a state has the equity of a stored minute only from the minute's last millisecond on: the state at the %s",
  async (_what, at, value, ageMs) => {
    expect((await stateAt(at)).equity).toMatchObject({ value, ageMs });
  },
);

it("the equity of the state is null if no earlier minute is stored", async () => {
  expect((await stateAt("2026-03-02T11:57:59.998Z")).equity).toBeNull();
});

it("the state of an account can be read at the present time, and at the time of the account's creation", async () => {
  expect((await stateAt(NOW)).at).toBe(NOW);
  expect((await stateAt(CREATED_AT)).at).toBe(CREATED_AT);
});

it.each([
  ["missing", undefined, /./],
  [
    "in the future",
    "2026-03-02T12:00:35.001Z",
    /^must not be in the future: the current time is 2026-03-02T12:00:30.000Z$/,
  ],
  [
    "before the creation",
    "2026-03-01T09:00:00.249Z",
    /^must not be before the account began: 2026-03-01T09:00:00.250Z$/,
  ],
  ["in the year 1", "0001-01-01T00:00:00Z", /^must not be before the account began: /],
])("the state at a time that is %s is 400 with an issue, at the price of a read", async (_what, at, message) => {
  const call = callAt(at);
  await expect(operation(call)).rejects.toMatchObject({
    status: 400,
    issues: [{ path: ["at"], message: expect.stringMatching(message) as string }],
  });
  expect(admit).toHaveBeenCalledOnce();
  expect(call.charge.admitted).toEqual({ charged: 1, remaining: 9 });
});

it("the state of an account that does not exist, or is deleted during the request, is 404", async () => {
  find.mockResolvedValueOnce(null);
  await expect(operation(callAt(NOW))).rejects.toMatchObject({ status: 404, code: "ACCOUNT_NOT_FOUND" });
  expect(readBalance).not.toHaveBeenCalled();
  for (const owner of [openPositions, readBalance]) {
    owner.mockResolvedValueOnce(null);
    await expect(operation(callAt(NOW))).rejects.toMatchObject({ status: 404, code: "ACCOUNT_NOT_FOUND" });
  }
});

it("if the account service or finance is unavailable, the whole request fails", async () => {
  for (const owner of [openPositions, readBalance]) {
    owner.mockRejectedValueOnce(new DependencyError("unavailable"));
    await expect(operation(callAt(NOW))).rejects.toThrow(DependencyError);
  }
});
