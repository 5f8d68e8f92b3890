/**
 * Operations that people call in the console. They are carried out exactly once under the
 * idempotency key that the page keeps, as if a management key had sent them. Their commands,
 * transactions and usage entries name the person.
 */
import { randomUUID } from "node:crypto";

import { type CommandEnvelope, type ErrorBody, type PersonOperation, personIdempotencyKey } from "@kapi/contracts";
import { readUsage, shardOf } from "@kapi/admission/redis";
import { callerHeaders } from "@kapi/http";
import { freePort } from "@kapi/servers";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Answer, call, createdAccount, getCommand } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

const ADDRESS = "203.0.113.9";
/** More requests than a person's rate limit allows at once. */
const MANY_REQUESTS = 40;

let platform: Platform;
let organization: Organization;
/** The internal port of the gateway. */
let internal: string;
let accountNumber: string;
beforeAll(async () => {
  platform = await startPlatform(["finance"]);
  organization = await platform.organization(100_000);
  const port = await freePort();
  await platform.gateway({ INTERNAL_PORT: String(port) });
  internal = `http://127.0.0.1:${port}`;
  accountNumber = await createdAccount(platform.url, organization);
});
afterAll(() => platform.stop());

interface Asked {
  readonly operation?: PersonOperation;
  readonly idempotencyKey?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly person?: string;
  readonly account?: string;
  readonly server?: string;
  readonly owner?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const PERSON = randomUUID();

/** Sends an operation as the console does; by default a deposit of 100. */
async function act(asked: Asked = {}): Promise<Answer<CommandEnvelope & ErrorBody>> {
  const { operation = "depositAccountFunds", idempotencyKey = randomUUID(), body = { amount: 100 } } = asked;
  const { owner = organization.id, server = organization.server.serverId, account = accountNumber } = asked;
  const { url = internal, person = PERSON } = asked;
  const headers = asked.headers ?? {
    "x-service-token": platform.environment.secrets.serviceTokens.console,
    ...callerHeaders({ actor: { type: "user", id: person }, address: ADDRESS }),
  };
  const path = `/internal/organizations/${owner}/servers/${server}/accounts/${account}/operations`;
  const response = await fetch(url + path, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ operation, idempotencyKey, body: { requestId: "r", ...body } }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as CommandEnvelope & ErrorBody,
    charged: Number(response.headers.get("x-credits-charged") ?? "missing"),
    remaining: Number(response.headers.get("x-credits-remaining") ?? "missing"),
  };
}

/** Waits until the command of an accepted operation is final, and returns the command. */
async function finalOf({ body }: Answer<CommandEnvelope & ErrorBody>) {
  return (await getCommand(platform.url, organization, body.command.id, 20)).body.command;
}

/** The transactions that a command booked on an account. */
async function bookedBy(commandId: string, account: string): Promise<unknown[]> {
  const path = `servers/${organization.server.serverId}/accounts/${account}/transactions?limit=100`;
  const { body } = await call<{ transactions: { commandId: string | null }[] }>(platform.url, organization, path);
  return body.transactions.filter((transaction) => transaction.commandId === commandId);
}

it("a deposit of a person is booked; command, transaction and usage name the person", async () => {
  const idempotencyKey = randomUUID();
  const accepted = await act({ idempotencyKey });
  expect(accepted).toMatchObject({ status: 202, body: { duplicate: false } });
  const person = { type: "user", id: PERSON };
  expect(await finalOf(accepted)).toMatchObject({
    operation: "finance.deposit",
    status: "succeeded",
    createdBy: person,
    idempotencyKey: personIdempotencyKey(PERSON, idempotencyKey),
  });
  const commandId = accepted.body.command.id;
  await eventually(async () =>
    expect(await bookedBy(commandId, accountNumber)).toMatchObject([{ amount: 100, createdBy: person }]),
  );
  const shard = shardOf(organization.id);
  const usage = (await readUsage(platform.redis, [shard], 1_000)).replies.get(shard) ?? [];
  expect(usage.filter((entry) => entry.commandId === commandId)).toMatchObject([
    { kind: "reserve", createdBy: person, address: ADDRESS },
  ]);
});

describe("a deposit of a person", () => {
  it.each(["gateway.claimed", "gateway.published", "gateway.answered"])(
    "is booked once if a gateway is killed at %s and the answer is lost: the retry under the same key gets the command",
    async (point) => {
      const port = await freePort();
      const doomed = await platform.gatewayProcess({ FAULT_POINT: point, INTERNAL_PORT: String(port) });
      const idempotencyKey = randomUUID();
      const account = await createdAccount(platform.url, organization);
      await expect(act({ idempotencyKey, account, url: `http://127.0.0.1:${port}` })).rejects.toThrow("fetch failed");
      expect(await doomed.ended).toBe("SIGKILL");
      const retry = await act({ idempotencyKey, account });
      expect([200, 202]).toContain(retry.status);
      expect((await finalOf(retry)).status).toBe("succeeded");
      const path = `servers/${organization.server.serverId}/accounts/${account}/transactions`;
      await eventually(async () => {
        const { body } = await call<{ transactions: { amount: number }[] }>(platform.url, organization, path);
        expect(body.transactions.filter(({ amount }) => amount === 100)).toHaveLength(1);
      });
    },
  );

  it("is booked once after a double click: one request is 202, the other 200 with the same command", async () => {
    const idempotencyKey = randomUUID();
    const answers = await Promise.all([act({ idempotencyKey }), act({ idempotencyKey })]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 202]);
    const [one, other] = answers;
    expect(one.body.command.id).toBe(other.body.command.id);
    expect((await finalOf(one)).status).toBe("succeeded");
    await eventually(async () => expect(await bookedBy(one.body.command.id, accountNumber)).toHaveLength(1));
  });

  it("gets a command of its own, even if another person or a management key uses the same idempotency key", async () => {
    const idempotencyKey = randomUUID();
    const commands = [
      await act({ idempotencyKey }),
      await act({ idempotencyKey, person: randomUUID() }),
      await call<CommandEnvelope>(
        platform.url,
        organization,
        `servers/${organization.server.serverId}/accounts/${accountNumber}/finance/deposits`,
        { body: { amount: 100, requestId: "r" }, headers: { "idempotency-key": idempotencyKey } },
      ),
    ];
    expect(commands.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(commands.map(({ body }) => body.command.id)).size).toBe(3);
    const changed = await act({ idempotencyKey, body: { amount: 101 } });
    expect(changed).toMatchObject({ status: 400, body: { code: "IDEMPOTENCY_KEY_REUSED" } });
  });
});

it("the person who reset a password can repeat the reset and see the password again; a management key cannot", async () => {
  const idempotencyKey = randomUUID();
  const reset = { operation: "resetInvestorPassword", idempotencyKey, body: {} } as const;
  const first = await act(reset);
  expect(first).toMatchObject({ status: 202, body: { password: expect.any(String) } });
  await finalOf(first);
  expect(await act(reset)).toMatchObject({ status: 200, body: { password: first.body.password } });
  const byKey = await call(
    platform.url,
    organization,
    `servers/${organization.server.serverId}/accounts/${accountNumber}/investor-password-reset`,
    { body: { requestId: "r" }, headers: { "idempotency-key": personIdempotencyKey(PERSON, idempotencyKey) } },
  );
  expect(byKey).toMatchObject({ status: 400, body: { code: "IDEMPOTENCY_KEY_REUSED" } });
});

describe("a person", () => {
  it("sets and deletes risk rules; the parameters of a deletion are in the body of the call", async () => {
    const rules = [{ id: "max", type: "maxLoss", limit: { percent: 10 }, action: "notify" }];
    const set = await act({ operation: "setRiskRules", body: { rules } });
    expect(set).toMatchObject({ status: 202, body: { command: { operation: "risk.set_rules" } } });
    const removed = await act({ operation: "deleteRiskRules", body: { useTemplate: "true" } });
    expect(removed).toMatchObject({
      status: 202,
      body: { command: { operation: "risk.delete_rules", payload: { useTemplate: true } } },
    });
    const wrong = await act({ operation: "setRiskRules", body: { rules: [] } });
    expect(wrong).toMatchObject({ status: 400, body: { code: "VALIDATION_FAILED" } });
  });

  it("sets a risk template under the name in the path; this path rejects operations on accounts", async () => {
    const rules = [{ id: "max", type: "maxLoss", limit: { percent: 10 }, action: "notify" }];
    const body = { requestId: "r", rules, appliesTo: { status: ["active"] }, newAccounts: true };
    const ask = (operation: string) =>
      fetch(
        `${internal}/internal/organizations/${organization.id}/servers/${organization.server.serverId}/risk-templates/standard/operations`,
        {
          method: "POST",
          headers: {
            "x-service-token": platform.environment.secrets.serviceTokens.console,
            ...callerHeaders({ actor: { type: "user", id: PERSON }, address: ADDRESS }),
            "content-type": "application/json",
          },
          body: JSON.stringify({ operation, idempotencyKey: randomUUID(), body }),
        },
      );
    const set = await ask("setRiskTemplate");
    expect(set.status).toBe(202);
    expect(await set.json()).toMatchObject({
      command: { operation: "risk.set_template", payload: { name: "standard" }, createdBy: { id: PERSON } },
    });
    expect((await ask("depositAccountFunds")).status).toBe(400);
  });
});

describe("a rejected operation of a person", () => {
  it.each([
    ["a wrong amount", { body: { amount: -1 } }, 400, "VALIDATION_FAILED"],
    ["an unknown account", { account: "99999999" }, 404, "ACCOUNT_NOT_FOUND"],
    ["another organization's server", { owner: randomUUID() }, 403, "MISSING_SERVER_ACCESS"],
  ])("has the status and the code that a management key would get: %s", async (_what, asked, status, code) => {
    expect(await act(asked)).toMatchObject({ status, body: { code } });
  });

  it("is 402 and free of charge if there are too few credits", async () => {
    const poor = await platform.organization(11);
    const account = await createdAccount(platform.url, poor);
    const asked = { owner: poor.id, server: poor.server.serverId, account };
    expect(await act(asked)).toMatchObject({ status: 402, charged: 0, body: { code: "INSUFFICIENT_CREDITS" } });
  });

  it("is 429 above the rate limit of this person; other people are not limited", async () => {
    const person = randomUUID();
    const asked = Array.from({ length: MANY_REQUESTS }, () => act({ person, account: "99999999" }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status === 404).length).toBeGreaterThan(0);
    expect((await act({ account: "99999999" })).status).toBe(404);
  });
});

describe("operations for people", () => {
  it("are not on the public port, not even for the console", async () => {
    expect(await act({ url: platform.url })).toMatchObject({ status: 404 });
  });

  it.each([
    ["another service", () => ({ "x-service-token": platform.environment.secrets.serviceTokens.organization })],
    ["a management key", () => ({ authorization: `Management ${organization.managementKey}` })],
    ["the console without a person", () => ({ "x-service-token": platform.environment.secrets.serviceTokens.console })],
  ])("are 401 on the internal port for %s", async (_what, headers) => {
    expect(await act({ headers: headers() })).toMatchObject({ status: 401 });
  });

  it("are on an internal port that does not have the management API", async () => {
    const path = `${internal}/api/v1/management/credits/balance`;
    const headers = { authorization: `Management ${organization.managementKey}` };
    expect((await fetch(path, { headers })).status).toBe(404);
  });
});
