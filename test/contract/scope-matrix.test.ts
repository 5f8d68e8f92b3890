/**
 * Tests the access to every operation: keys with one scope, without a scope, for another server, or
 * of another organization. webhooks.test.ts tests the scopes of the webhook operations.
 */
import { randomUUID } from "node:crypto";

import { type OperationContract, type OperationId, OPERATIONS as CONTRACTS } from "@kapi/contracts";
import { createOrganization } from "@kapi/local";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { OutsideClient } from "../e2e/outside-client.ts";
import { type Answer, Caller, type Target } from "./caller.ts";
import {
  DIGEST_DATE,
  minutesAgo,
  ERROR_TEXTS,
  OPERATIONS,
  type OperationRow,
  SCOPES,
  SERVER_ACCESS_TEXT,
} from "./interface-tables.ts";
import { finished, pathOf, startContractHarness, type ContractHarness } from "./harness.ts";

const MANY_CREDITS = 10_000;

let harness: ContractHarness;
let stranger: Caller;
let strangersServerId: string;

beforeAll(async () => {
  harness = await startContractHarness();
  const organization = await createOrganization(harness.stack, { name: "Stranger", credits: MANY_CREDITS });
  stranger = new Caller(harness.stack.baseUrl, organization.managementKey);
  strangersServerId = organization.serverId;
  const balance = "/api/v1/management/credits/balance";
  await eventually(async () => (await stranger.send("GET", balance)).status === 200, { timeoutMs: 20_000 });
});
afterAll(() => harness.stop());

/**
 * Sends a request that changes no data even if access is allowed. A read is valid. A mutation has
 * no Idempotency-Key, no valid body and no existing account.
 */
function probe(caller: Caller, operation: OperationRow, target: Partial<Target> = {}): Promise<Answer> {
  const harmless = operation.method === "GET" ? {} : { accountNumber: "99999999" };
  const path = pathOf(operation, { ...harness.target, ...harmless, ...target });
  return caller.send(operation.method, path, operation.body === undefined ? {} : { body: {} });
}

function expectRefused(answer: Answer, error: string): void {
  const code = answer.headers.get("x-error-code");
  const requestId = answer.headers.get("x-request-id");
  expect({ status: answer.status, body: answer.body, charged: answer.charged }).toEqual({
    status: 403,
    body: { error, code, requestId },
    charged: 0,
  });
}

const missing = (operation: OperationRow): string => ERROR_TEXTS[403].replace("<scope>", operation.scope);
const noAccess = (serverId: string): string => SERVER_ACCESS_TEXT.replace("<serverId>", serverId);

describe.each(OPERATIONS)("$name, which needs $scope", (operation) => {
  it.each(SCOPES)("returns 403 to a key with only %s, unless the operation needs this scope", async (scope) => {
    const caller = harness.single.get(scope);
    if (caller === undefined) throw new Error(`no key with ${scope}`);
    const answer = await probe(caller, operation);
    if (scope === operation.scope) {
      const mayBePending = operation.path.includes("{breachId}");
      const admitted = operation.method === "GET" ? (mayBePending ? [200, 409] : [200]) : [400];
      expect(admitted, JSON.stringify(answer.body)).toContain(answer.status);
    } else expectRefused(answer, missing(operation));
  });

  it("rejects a key without scopes", async () => {
    expectRefused(await probe(harness.withoutScope, operation), missing(operation));
  });

  if (operation.path.includes("{serverId}")) {
    it("rejects a key for another server, and accepts this key on the other server", async () => {
      const { serverId } = harness.target;
      expectRefused(await probe(harness.limited, operation), noAccess(serverId));
      const elsewhere = await probe(harness.limited, operation, { serverId: harness.otherServerId });
      expect([200, 400, 404]).toContain(elsewhere.status);
    });

    it("rejects another organization's key, another organization's server and an unknown server", async () => {
      const { serverId } = harness.target;
      expectRefused(await probe(stranger, operation), noAccess(serverId));
      expectRefused(
        await probe(harness.owner, operation, { serverId: strangersServerId }),
        noAccess(strangersServerId),
      );
      const unknown = randomUUID();
      expectRefused(await probe(harness.owner, operation, { serverId: unknown }), noAccess(unknown));
    });

    it("reports the missing scope if scope and server access are both missing", async () => {
      expectRefused(await probe(harness.withoutScope, operation, { serverId: randomUUID() }), missing(operation));
    });
  }
});

describe("an operation without a server in its path, called by another organization", () => {
  it("returns 404 for a command", async () => {
    const operation = OPERATIONS.find(({ name }) => name === "getCommand");
    if (operation === undefined) throw new Error("getCommand is not in the table");
    expect((await probe(harness.owner, operation)).status).toBe(200);
    expect((await probe(stranger, operation)).status).toBe(404);
  });

  it("returns the caller's own wallet", async () => {
    const path = "/api/v1/management/credits/balance";
    type WalletOnly = { wallet: { organizationId: string } };
    const [own, other] = await Promise.all([harness.owner.send("GET", path), stranger.send("GET", path)]);
    expect((other.body as WalletOnly).wallet.organizationId).not.toBe((own.body as WalletOnly).wallet.organizationId);
  });
});

/**
 * The keys that may use an operation without a server in its path. "the organization": every key.
 * "all servers": only a key for all servers. "a command": a key for the server of the command.
 */
type About = "the organization" | "all servers" | "a command";
type WithoutServer = {
  [Id in OperationId]: (typeof CONTRACTS)[Id]["server"] extends true ? never : Id;
}[OperationId];

/** Queries of the reads that return 400 without a query. */
const QUERIES: Partial<Readonly<Record<OperationId, () => string>>> = {
  getAccountState: () => `?at=${new Date().toISOString()}`,
  listDailyDigests: () => `?date=${DIGEST_DATE}`,
  getIntervalEvidence: () => `?from=${minutesAgo(2)}&to=${minutesAgo(1)}`,
};

/** Written by hand: a new operation without a server in its path needs an entry here. */
const ABOUT: Readonly<Record<WithoutServer, About>> = {
  getCreditBalance: "the organization",
  getCreditPrices: "the organization",
  listCreditUsage: "all servers",
  getCommand: "a command",
  createWebhook: "all servers",
  listWebhooks: "all servers",
  getWebhook: "all servers",
  updateWebhook: "all servers",
  deleteWebhook: "all servers",
  rotateWebhookSecret: "all servers",
  testWebhook: "all servers",
  replayWebhook: "all servers",
  listWebhookDeliveries: "all servers",
  redeliverWebhook: "all servers",
  listEvents: "all servers",
};

const CELLS = (Object.entries(CONTRACTS) as [OperationId, OperationContract][]).flatMap(([id, contract]) =>
  (["all servers", "this server", "another server"] as const).map((reach) => ({ id, contract, reach })),
);

describe("the servers of a key", () => {
  const callerOf = (reach: (typeof CELLS)[number]["reach"]): Caller =>
    ({ "all servers": harness.owner, "this server": harness.within, "another server": harness.limited })[reach];

  it.each(CELLS)("decide whether $id admits a key for $reach", async ({ id, contract, reach }) => {
    const { serverId, accountNumber, commandId, breachId, templateName } = harness.target;
    const path = contract.path
      .replace(":serverId", serverId)
      .replace(":accountNumber", contract.method === "GET" ? accountNumber : "99999999")
      .replace(":commandId", commandId)
      .replace(":breachId", breachId)
      .replace(":templateName", templateName)
      .replaceAll(/:\w+/g, randomUUID());
    const options = contract.body === undefined ? {} : { body: {} };
    const query = QUERIES[id]?.() ?? "";
    const answer = await callerOf(reach).send(contract.method, path + query, options);
    const about = contract.path.includes(":serverId") ? "a server" : ABOUT[id as WithoutServer];
    expect(about, `ABOUT has no entry for ${id}`).toBeDefined();
    if (about === "all servers" && reach !== "all servers") {
      expectRefused(answer, "Missing server access: all servers of the organization");
    } else if (about === "a server" && reach === "another server") expectRefused(answer, noAccess(serverId));
    else if (about === "a command" && reach === "another server") {
      expect(answer).toMatchObject({ status: 404, body: { error: "Command not found" }, charged: 1 });
    } else {
      // The endpoint in the path does not exist, and a mutation has no valid body.
      const admitted =
        contract.method !== "GET"
          ? [400, 404]
          : contract.path.includes(":endpointId")
            ? [404]
            : id === "getBreachEvidence"
              ? [200, 409]
              : [200];
      expect(admitted, answer.text).toContain(answer.status);
    }
  });

  it("limit the live metrics that the key can subscribe to", async () => {
    const { stack, owner, within, limited, target } = harness;
    const { baseUrl, wsBase, tradingServerUrl } = stack;
    const named = { serverId: target.serverId, accountNumber: target.accountNumber };
    const first = async (caller: Caller): Promise<unknown> => {
      const { managementKey } = caller;
      const demo = { baseUrl, wsBase, tradingServerUrl, managementKey, organizationId: "", serverId: target.serverId };
      const socket = await new OutsideClient(demo).live();
      expect((await socket.next()).type).toBe("connected");
      socket.send({ type: "subscribe", ...named });
      const message = await socket.next();
      socket.close();
      return message;
    };
    for (const caller of [owner, within])
      expect(await first(caller)).toMatchObject({ type: "account.metrics", ...named });
    expect(await first(limited)).toMatchObject({ type: "error", code: "SERVER_ACCESS_DENIED", ...named });
  });

  it("hide the data of another server's command, even from a request with the Idempotency-Key of that command", async () => {
    const { owner, limited, target, otherServerId } = harness;
    const idempotencyKey = randomUUID();
    const body = { accountName: "Limited", initialBalance: 1, leverage: 100, requestId: "limited" };
    const create = (caller: Caller, serverId: string): Promise<Answer> =>
      caller.send("POST", `/api/v1/management/servers/${serverId}/accounts`, { body, idempotencyKey });
    const { command } = (await create(owner, target.serverId)).body as { command: { id: string } };
    const expectNothing = async (): Promise<void> => {
      expectRefused(await create(limited, target.serverId), noAccess(target.serverId));
      const elsewhere = await create(limited, otherServerId);
      expect({ status: elsewhere.status, body: elsewhere.body }).toEqual({
        status: 409,
        body: {
          error: "Idempotency-Key was already used for a different request",
          code: "IDEMPOTENCY_KEY_REUSED",
          requestId: elsewhere.headers.get("x-request-id"),
        },
      });
    };
    await expectNothing();
    expect(await finished(owner, command.id)).toMatchObject({ status: "succeeded" });
    await expectNothing();
  });

  it("hide another server's command: a read returns 404 without waiting", async () => {
    const { owner, within, limited, target } = harness;
    const path = `/api/v1/management/servers/${target.serverId}/accounts/${target.accountNumber}/exports/history`;
    const body = { requestId: "limited" };
    const { command } = (await owner.send("POST", path, { body, idempotencyKey: randomUUID() })).body as {
      command: { id: string };
    };
    const commandPath = `/api/v1/management/commands/${command.id}`;
    const beganMs = Date.now();
    for (const wait of ["", "?wait=30"]) {
      expect(await limited.send("GET", commandPath + wait)).toMatchObject({ status: 404, charged: 1 });
    }
    expect(Date.now() - beganMs).toBeLessThan(10_000);
    expect(await finished(within, command.id)).toMatchObject({ status: "succeeded", result: { truncated: false } });
    for (const wait of ["", "?wait=30"]) {
      const answer = await limited.send("GET", commandPath + wait);
      expect(answer).toMatchObject({ status: 404, body: { error: "Command not found" } });
    }
  });
});
