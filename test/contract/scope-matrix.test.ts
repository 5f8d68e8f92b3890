/** Who may call what: every operation with every key that has one scope, with none, with another server, with another owner. */
import { randomUUID } from "node:crypto";

import { createOrganization } from "@kapi/local";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Answer, Caller, type Target } from "./caller.ts";
import { ERROR_TEXTS, OPERATIONS, type OperationRow, SCOPES, SERVER_ACCESS_TEXT } from "./interface-tables.ts";
import { pathOf, startWorld, type World } from "./world.ts";

const MANY_CREDITS = 10_000;

let world: World;
let stranger: Caller;
let strangersServerId: string;

beforeAll(async () => {
  world = await startWorld();
  const organization = await createOrganization(world.stack, { name: "Stranger", credits: MANY_CREDITS });
  stranger = new Caller(world.stack.baseUrl, organization.managementKey);
  strangersServerId = organization.serverId;
  const balance = "/api/v1/management/credits/balance";
  await eventually(async () => (await stranger.send("GET", balance)).status === 200, { timeoutMs: 20_000 });
});
afterAll(() => world.stop());

/** A request that changes nothing where it is let in: reads as they are, changes without key, body and real account. */
function probe(caller: Caller, operation: OperationRow, target: Partial<Target> = {}): Promise<Answer> {
  const harmless = operation.method === "GET" ? {} : { accountNumber: "99999999" };
  const path = pathOf(operation, { ...world.target, ...harmless, ...target });
  return caller.send(operation.method, path, operation.body === undefined ? {} : { body: {} });
}

function expectRefused(answer: Answer, error: string): void {
  expect({ status: answer.status, body: answer.body, charged: answer.charged }).toEqual({
    status: 403,
    body: { error },
    charged: 0,
  });
}

const missing = (operation: OperationRow): string => ERROR_TEXTS[403].replace("<scope>", operation.scope);
const noAccess = (serverId: string): string => SERVER_ACCESS_TEXT.replace("<serverId>", serverId);

describe.each(OPERATIONS)("$name, which needs $scope", (operation) => {
  it.each(SCOPES)("by a key with %s alone", async (scope) => {
    const caller = world.single.get(scope);
    if (caller === undefined) throw new Error(`a key with ${scope}`);
    const answer = await probe(caller, operation);
    if (scope === operation.scope) {
      const admitted = operation.method === "GET" ? [200] : [400];
      expect(admitted, JSON.stringify(answer.body)).toContain(answer.status);
    } else expectRefused(answer, missing(operation));
  });

  it("by a key without a scope", async () => {
    expectRefused(await probe(world.withoutScope, operation), missing(operation));
  });

  if (operation.path.includes("{serverId}")) {
    it("by a key whose list of servers lacks the server; on a server of the list it is let in", async () => {
      const { serverId } = world.target;
      expectRefused(await probe(world.limited, operation), noAccess(serverId));
      const elsewhere = await probe(world.limited, operation, { serverId: world.otherServerId });
      expect([200, 400, 404]).toContain(elsewhere.status);
    });

    it("by another organization, and on another organization's or an unknown server", async () => {
      const { serverId } = world.target;
      expectRefused(await probe(stranger, operation), noAccess(serverId));
      expectRefused(await probe(world.owner, operation, { serverId: strangersServerId }), noAccess(strangersServerId));
      const unknown = randomUUID();
      expectRefused(await probe(world.owner, operation, { serverId: unknown }), noAccess(unknown));
    });

    it("names the missing scope before the server", async () => {
      expectRefused(await probe(world.withoutScope, operation, { serverId: randomUUID() }), missing(operation));
    });
  }
});

describe("what is not under a server shows another organization nothing", () => {
  it("a command is 404", async () => {
    const operation = OPERATIONS.find(({ name }) => name === "getCommand");
    if (operation === undefined) throw new Error("getCommand is in the table");
    expect((await probe(world.owner, operation)).status).toBe(200);
    expect((await probe(stranger, operation)).status).toBe(404);
  });

  it("the wallet is its own", async () => {
    const path = "/api/v1/management/credits/balance";
    type WalletOnly = { wallet: { organizationId: string } };
    const [own, other] = await Promise.all([world.owner.send("GET", path), stranger.send("GET", path)]);
    expect((other.body as WalletOnly).wallet.organizationId).not.toBe((own.body as WalletOnly).wallet.organizationId);
  });
});
