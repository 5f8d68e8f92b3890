import { randomUUID } from "node:crypto";

import { Server, type TradingAccount } from "@kapi/contracts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { accountBody, type Answer, call, create, createdAccount, deposit, getCommand } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

let platform: Platform;
let organization: Organization;
/** The URL of a second gateway. */
let other: string;

beforeAll(async () => {
  platform = await startPlatform(["finance", "metrics"]);
  organization = await platform.organization(1_000_000);
  other = await platform.gateway({});
});
afterAll(() => platform.stop());

const serverPath = (caller = organization): string => `servers/${caller.server.serverId}`;
const accountPath = (accountNumber: string): string => `${serverPath()}/accounts/${accountNumber}`;
const remove = (accountNumber: string, url = platform.url): Promise<Answer<unknown>> =>
  call(url, organization, accountPath(accountNumber), { method: "DELETE" });

describe("an account", () => {
  it("that is deleted immediately is 404 for details and history, and has no metrics, at every gateway at once; deleting it again is 200", async () => {
    const accountNumber = await createdAccount(platform.url, organization);
    const funds = await deposit(platform.url, organization, accountNumber, randomUUID(), { amount: 5, requestId: "r" });
    await getCommand(platform.url, organization, funds.body.command.id, 20);
    // Both gateways cache that the account exists.
    for (const url of [platform.url, other]) {
      const answer = await call(url, organization, `${accountPath(accountNumber)}/transactions`);
      expect(answer).toMatchObject({ status: 200, body: { pagination: { total: 2 } } });
    }
    const deleted = { accountNumber, deleted: true };
    expect(await remove(accountNumber)).toMatchObject({ status: 200, charged: 5, body: deleted });
    for (const url of [platform.url, other]) {
      for (const list of ["", "/transactions", "/orders", "/positions", "/positions?status=open", "/deals"]) {
        const answer = await call(url, organization, `${accountPath(accountNumber)}${list}`);
        expect([list, answer.status]).toEqual([list, 404]);
        expect(answer.charged).toBe(1);
      }
      const metrics = `${serverPath()}/account-metrics?accountNumber=${accountNumber}`;
      expect(await call(url, organization, metrics)).toMatchObject({ status: 200, body: { snapshots: [] } });
    }
    const body = { amount: 1, requestId: "r" };
    expect((await deposit(platform.url, organization, accountNumber, randomUUID(), body)).status).toBe(404);
    await expect
      .poll(async () => (await deposit(other, organization, accountNumber, randomUUID(), body)).status)
      .toBe(404);
    expect(await remove(accountNumber, other)).toMatchObject({ status: 200, body: deleted });
    const list = await call<{ accounts: TradingAccount[] }>(platform.url, organization, `${serverPath()}/accounts`);
    expect(list.body.accounts.map((account) => account.accountNumber)).not.toContain(accountNumber);
  });

  it("that never existed: the immediate deletion is 400 for the read price", async () => {
    const answer = await remove("99999999");
    expect(answer).toMatchObject({ status: 400, charged: 1, body: { error: "Trading account not found" } });
    expect(answer.headers.get("x-error-code")).toBe("ACCOUNT_NOT_FOUND");
  });

  it("that a command deletes is 404 at the gateway that queued the command", async () => {
    const accountNumber = await createdAccount(platform.url, organization);
    const body = { requestId: "r" };
    const headers = { "idempotency-key": randomUUID() };
    const path = `${accountPath(accountNumber)}/delete`;
    const queued = await call<{ command: { id: string } }>(other, organization, path, { body, headers });
    expect(queued.status).toBe(202);
    const final = await getCommand(platform.url, organization, queued.body.command.id, 20);
    expect(final.body.command).toMatchObject({ status: "succeeded", result: { accountNumber, deleted: true } });
    expect((await call(other, organization, accountPath(accountNumber))).status).toBe(404);
    expect((await call(other, organization, `${accountPath(accountNumber)}/transactions`)).status).toBe(404);
    const funds = { amount: 1, requestId: "r" };
    await expect
      .poll(async () => (await deposit(other, organization, accountNumber, randomUUID(), funds)).status)
      .toBe(404);
  });
});

describe("a change of the server's configuration", () => {
  const update = (body: unknown, caller: Organization): Promise<Answer<{ server: Server }>> =>
    call(platform.url, caller, `${serverPath(caller)}/configuration`, { method: "PATCH", body });

  it("applies to the response, the next read and the next creation", async () => {
    const caller = await platform.organization(1_000);
    expect((await create(platform.url, caller, randomUUID(), accountBody({ leverage: 100 }))).status).toBe(202);
    const answer = await update({ supportedLeverage: [500, 50], currency: "NGN" }, caller);
    expect(answer).toMatchObject({ status: 200, charged: 5 });
    expect(Server.strict().parse(answer.body.server)).toMatchObject({
      supportedLeverage: [50, 500],
      defaultLeverage: null,
      currency: "NGN",
      currencySymbol: "₦",
    });
    const read = await call<{ server: Server }>(other, caller, `${serverPath(caller)}/configuration`);
    expect(read.body).toEqual(answer.body);
    expect((await create(platform.url, caller, randomUUID(), accountBody({ leverage: 100 }))).status).toBe(400);
    expect((await create(platform.url, caller, randomUUID(), accountBody({ leverage: 50 }))).status).toBe(202);
  });

  it("to an unsupported default leverage is 400 for the read price and changes nothing", async () => {
    const caller = await platform.organization(1_000);
    const answer = await call(platform.url, caller, `${serverPath(caller)}/configuration`, {
      method: "PATCH",
      body: { supportedLeverage: [50], defaultLeverage: 100 },
    });
    expect(answer).toMatchObject({ status: 400, charged: 1 });
    expect(answer.body.issues?.map(({ path }) => path)).toEqual([["defaultLeverage"]]);
    const read = await call<{ server: Server }>(platform.url, caller, `${serverPath(caller)}/configuration`);
    expect(read.body.server.supportedLeverage).toContain(100);
    expect(await update({ defaultLeverage: 50 }, caller)).toMatchObject({
      status: 200,
      body: { server: { defaultLeverage: 50 } },
    });
  });
});
