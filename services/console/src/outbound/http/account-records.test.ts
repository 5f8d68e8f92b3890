import {
  ApiError,
  createHttpServer,
  DependencyError,
  startInternalClient,
  startListening,
  tooManyConcurrentRequests,
} from "@kapi/http";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { afterAll, expect, it } from "vitest";

import { createAccountRecords } from "./account-records.ts";

const ACCOUNT = { serverId: "server", accountNumber: "10000001" };
const scope = new Scope();
afterAll(() => scope.stop());

/** Reads a page of open positions from an account service that rejects it with `error`. */
async function pageRejectedWith(error: ApiError): Promise<unknown> {
  const app = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health: new Health() });
  app.get("/internal/servers/:serverId/accounts/:accountNumber/positions", () => {
    throw error;
  });
  const { url } = await scope.start("server", () => startListening(app, { host: "127.0.0.1", port: 0 }));
  const client = await scope.start("client", () =>
    startInternalClient({ baseUrl: url, credentials: {}, timeoutMs: 5_000 }),
  );
  const records = createAccountRecords({ account: client, finance: client });
  return records.page("positions", ACCOUNT, { status: "open" });
}

it("a page above the organization's share of calls to a trading server is 429 for the console too", async () => {
  const error = { code: "TOO_MANY_CONCURRENT_REQUESTS", status: 429 };
  await expect(pageRejectedWith(tooManyConcurrentRequests())).rejects.toMatchObject(error);
});

it("another error of the owner, such as 400, rejects the read with DependencyError", async () => {
  await expect(pageRejectedWith(new ApiError("VALIDATION_FAILED"))).rejects.toThrow(DependencyError);
});
