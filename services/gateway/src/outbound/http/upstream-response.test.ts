import { ACCOUNT_ROUTES, FINANCE_ROUTES } from "@kapi/contracts";
import { DependencyError, type InternalClient } from "@kapi/http";
import { expect, it } from "vitest";

import { accountBodyOf, checkedPage, optionalBodyOf } from "./upstream-response.ts";

const ROUTE = FINANCE_ROUTES.listTradingAccountTransactions;
const CURRENT = Buffer.from('{"transactions":[],"pagination":{"page":1,"nextCursor":null}}');
/** The description looks like the field `nextCursor`, but its quotation marks are escaped. */
const FORMER = Buffer.from(`{"transactions":[{"description":${JSON.stringify('"nextCursor":')}}],"pagination":{}}`);

it("a page of release 0.1.0 is an error if that release ignored a cursor or a filter", () => {
  for (const query of [{ limit: 20, cursor: "c" }, { type: "deposit" }]) {
    expect(() => checkedPage(ROUTE, query, ["status"], FORMER)).toThrow(DependencyError);
    expect(checkedPage(ROUTE, query, ["status"], CURRENT)).toBe(CURRENT);
  }
});

it("a page of release 0.1.0 is returned if that release knows every part of the query; a 404 (null) is returned for any query", () => {
  const query = { page: 2, limit: 20, status: "open", type: undefined };
  expect(checkedPage(ROUTE, query, ["status"], FORMER)).toBe(FORMER);
  expect(checkedPage(ROUTE, { cursor: "c" }, [], null)).toBeNull();
});

it("accountBodyOf returns null for a 404 with the code ACCOUNT_NOT_FOUND, and rejects for every other 404, a 400 and a malformed body", async () => {
  const read = (status: number, body: object, code?: string) => {
    const response = {
      status,
      body: Buffer.from(JSON.stringify(body)),
      headers: code === undefined ? {} : { "x-error-code": code },
    };
    const client = { request: () => Promise.resolve(response) } as unknown as InternalClient;
    const params = { serverId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02", accountNumber: "10000001" };
    const request = { params, query: { at: "2026-03-02T12:00:30.000Z" } };
    return accountBodyOf(client, FINANCE_ROUTES.readBalance, request);
  };
  const error = (code: string) => ({ error: "text", code, requestId: "r" });
  expect(await read(200, { balance: 10.5 })).toEqual({ balance: 10.5 });
  expect(await read(404, error("ACCOUNT_NOT_FOUND"), "ACCOUNT_NOT_FOUND")).toBeNull();
  // A process of an earlier release does not have the route.
  await expect(read(404, error("NOT_FOUND"), "NOT_FOUND")).rejects.toThrow(DependencyError);
  await expect(read(404, {})).rejects.toThrow(DependencyError);
  await expect(read(400, error("VALIDATION_FAILED"), "VALIDATION_FAILED")).rejects.toThrow(DependencyError);
  await expect(read(200, { balance: "10.5" })).rejects.toThrow(DependencyError);
});

it("a 429 of the owner is passed on for a read; for a deletion it becomes a DependencyError, because a caller takes a 429 to mean that nothing was begun", async () => {
  const response = {
    status: 429,
    body: Buffer.from(JSON.stringify({ error: "text", code: "TOO_MANY_CONCURRENT_REQUESTS", requestId: "r" })),
    headers: { "x-error-code": "TOO_MANY_CONCURRENT_REQUESTS", "retry-after": "1" },
  };
  const client = { request: () => Promise.resolve(response) } as unknown as InternalClient;
  const params = { serverId: "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02", accountNumber: "10000001" };
  const error = { status: 429, code: "TOO_MANY_CONCURRENT_REQUESTS", headers: { "retry-after": "1" } };
  await expect(optionalBodyOf(client, ROUTE, { params, query: {} })).rejects.toMatchObject(error);
  const balance = { params, query: { at: "2026-03-02T12:00:30.000Z" } };
  await expect(accountBodyOf(client, FINANCE_ROUTES.readBalance, balance)).rejects.toMatchObject(error);
  const deletion = optionalBodyOf(client, ACCOUNT_ROUTES.deleteTradingAccountImmediately, { params });
  await expect(deletion).rejects.toThrow(DependencyError);
});
