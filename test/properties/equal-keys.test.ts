/**
 * Equal requests with the same key have one effect. Any number of them, concurrent and through any
 * gateway, create one command, one 202, one set of credentials and one movement of money. Within an
 * organization, a key belongs to one request forever. Another organization may use an equal key.
 */
import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { Answer, EnvelopeView, OutsideClient } from "../e2e/outside-client.ts";
import { startTwoGateways, type TwoGateways } from "../e2e/system.ts";
import { everyPage } from "./pages.ts";
import { bounded } from "./settings.ts";

/** Number of runs of each operation. */
const RUNS = 4;
const MAX_AT_ONCE = 12;
const PROPERTY_TIMEOUT_MS = 60_000;
const RESETS = new Set(["password-reset", "investor-password-reset"]);

type Clients = readonly [OutsideClient, OutsideClient];

interface Request {
  readonly method: "POST" | "PATCH";
  readonly path: string;
  readonly body: object;
  /** A different request with the same method. The key must not be accepted for this request. */
  readonly other: { readonly path: string; readonly body: object };
}

let system: TwoGateways;
let ours: Clients;
let theirs: Clients;
let account: string;
let theirAccount: string;

beforeAll(async () => {
  system = await startTwoGateways();
  [ours, theirs] = await Promise.all([system.newOrganization(), system.newOrganization()]);
  [account, theirAccount] = await Promise.all([ours[0].openAccount(10_000), theirs[0].openAccount(10_000)]);
});

afterAll(async () => {
  await system.stop();
});

const OPERATIONS = [
  "create",
  "update",
  "disable",
  "enable",
  "password-reset",
  "investor-password-reset",
  "finance/deposits",
  "finance/withdrawals",
  "exports/history",
] as const;
type Operation = (typeof OPERATIONS)[number];

/** Returns the request of `operation` for `account`. */
function requestOf(operation: Operation, account: string): Request {
  const at = `/accounts/${account}`;
  const method = operation === "update" ? "PATCH" : "POST";
  const request = (path: string, body: object, other: object): Request => ({
    method,
    path,
    body,
    other: { path, body: other },
  });
  switch (operation) {
    case "create": {
      const body = { accountName: "Once", initialBalance: 1, leverage: 100 };
      return request("/accounts", body, { ...body, accountName: "Twice" });
    }
    case "update":
      return request(at, { accountName: "Once" }, { accountName: "Twice" });
    case "finance/deposits":
    case "finance/withdrawals":
      return request(`${at}/${operation}`, { amount: 1.5 }, { amount: 1.51 });
    case "exports/history":
      return request(`${at}/${operation}`, { limit: 5 }, { limit: 6 });
    case "password-reset":
    case "investor-password-reset":
      return request(`${at}/${operation}`, {}, { password: "another password" });
    case "disable":
      return { method, path: `${at}/disable`, body: {}, other: { path: `${at}/enable`, body: {} } };
    case "enable":
      return { method, path: `${at}/enable`, body: {}, other: { path: `${at}/disable`, body: {} } };
  }
}

function send(client: OutsideClient, request: Request, key: string): Promise<Answer<EnvelopeView>> {
  // Requests that differ only in `requestId` are equal (decisions, 2.3).
  return client.queue(request.method, request.path, { ...request.body, requestId: randomUUID() }, key);
}

const commandsOf = (client: OutsideClient, key: string): Promise<{ id: string }[]> =>
  everyPage(client, `/commands?idempotencyKey=${encodeURIComponent(key)}`, "commands", 100);

/**
 * One response is 202, and all other responses are duplicates. Only the 202 of a creation has
 * credentials. All responses to a password reset have the same password.
 */
function expectOneCommand(operation: Operation, answers: readonly Answer<EnvelopeView>[]): EnvelopeView {
  const firsts = answers.filter(({ status }) => status === 202);
  expect(firsts).toHaveLength(1);
  expect(answers.map(({ status, body }) => [status, body.duplicate])).toEqual(
    answers.map(({ status }) => [status, status === 200]),
  );
  expect(new Set(answers.map(({ body }) => body.command.id)).size).toBe(1);
  const withCredentials = answers.filter(({ body }) => body.credentials !== undefined);
  expect(withCredentials).toEqual(operation === "create" ? firsts : []);
  const passwords = new Set(answers.map(({ body }) => body.password));
  expect(passwords.size).toBe(1);
  expect(passwords.has(undefined)).toBe(!RESETS.has(operation));
  const [first] = firsts;
  if (first === undefined) throw new Error("no answer was 202");
  return first.body;
}

async function expectRefused(operation: Operation, request: Request, key: string): Promise<void> {
  const refused = await send(ours[1], { ...request, ...request.other }, key);
  expect(refused.status).toBe(operation === "create" ? 409 : 400);
  expect(refused.headers.get("x-error-code")).toBe("IDEMPOTENCY_KEY_REUSED");
}

async function expectOneRow(operation: Operation, commandId: string, result: unknown): Promise<void> {
  const number = operation === "create" ? (result as { accountNumber: string }).accountNumber : account;
  const rows = await everyPage<{ commandId: string }>(ours[1], `/accounts/${number}/transactions`, "transactions", 100);
  const movesMoney = operation === "create" || operation.startsWith("finance/");
  expect(rows.filter((row) => row.commandId === commandId)).toHaveLength(movesMoney ? 1 : 0);
}

it.each(OPERATIONS)(
  "any number of equal concurrent requests of %s through two gateways have one effect",
  { timeout: PROPERTY_TIMEOUT_MS },
  async (operation) => {
    const gateways = fc.array(fc.nat({ max: 1 }), { minLength: 2, maxLength: MAX_AT_ONCE, size: "max" });
    const keys = fc
      .string({ minLength: 1, maxLength: 20, unit: "binary-ascii" })
      .map((text) => `${randomUUID()} ${encodeURIComponent(text)}`);
    await fc.assert(
      fc.asyncProperty(gateways, keys, async (gateways, key) => {
        const request = requestOf(operation, account);
        const answers = await Promise.all(gateways.map((gateway) => send(ours[gateway] ?? ours[0], request, key)));
        const { command } = expectOneCommand(operation, answers);
        const { result } = await ours[1].succeeded(command.id);

        await expectRefused(operation, request, key);
        expect((await commandsOf(ours[1], key)).map(({ id }) => id)).toEqual([command.id]);
        await expectOneRow(operation, command.id, result);

        const foreign = await send(theirs[0], requestOf(operation, theirAccount), key);
        expect(foreign).toMatchObject({ status: 202, body: { duplicate: false } });
        expect(foreign.body.command.id).not.toBe(command.id);
        const again = await send(ours[0], request, key);
        expect(again).toMatchObject({ status: 200, body: { command: { id: command.id, status: "succeeded" } } });
      }),
      bounded(RUNS),
    );
  },
);
