import { randomUUID } from "node:crypto";

import { ApiError, createHttpServer, startInternalClient, DependencyError, startListening } from "@kapi/http";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { afterAll, expect, it } from "vitest";

import type { Accounts } from "../../domain/ports.ts";
import { createAccounts } from "./accounts.ts";

const scope = new Scope();
afterAll(() => scope.stop());

/** A client of an account service that rejects lists with `error`. */
async function refusing(error: ApiError): Promise<Accounts> {
  const app = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health: new Health() });
  app.get("/internal/servers/:serverId/accounts", () => {
    throw error;
  });
  const { url } = await scope.start("server", () => startListening(app, { host: "127.0.0.1", port: 0 }));
  return createAccounts(
    await scope.start("client", () => startInternalClient({ baseUrl: url, credentials: {}, timeoutMs: 5_000 })),
  );
}

it("a search above the organization's share at the account service is 429 for the console too", async () => {
  const accounts = await refusing(new ApiError("TOO_MANY_CONCURRENT_REQUESTS"));
  const search = accounts.list(randomUUID(), { search: "a", limit: 20 });
  await expect(search).rejects.toMatchObject({ code: "TOO_MANY_CONCURRENT_REQUESTS", status: 429 });
});

it("any other rejection of a list is a DependencyError, also if the account service does not know the server yet", async () => {
  for (const code of ["SERVER_NOT_FOUND", "VALIDATION_FAILED"] as const) {
    const accounts = await refusing(new ApiError(code));
    await expect(accounts.list(randomUUID(), { limit: 20 })).rejects.toThrow(DependencyError);
  }
});
