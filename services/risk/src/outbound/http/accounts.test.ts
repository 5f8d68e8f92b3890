import {
  ApiError,
  createHttpServer,
  DependencyError,
  type FastifyRequest,
  startInternalClient,
  startListening,
} from "@kapi/http";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { afterAll, expect, it } from "vitest";

import { createAccountReader } from "./accounts.ts";
import { createPositionReader } from "./positions.ts";

const ACCOUNT = { serverId: "01890000-0000-7000-8000-000000000001", accountNumber: "10000001" };
const AT = "2026-11-20T09:00:00.000Z";
const scope = new Scope();
afterAll(() => scope.stop());

/** A client of an account service that answers with `answer`. */
async function clientOf(answer: (request: FastifyRequest) => unknown) {
  const app = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health: new Health() });
  app.get("/internal/*", answer);
  const { url } = await scope.start("server", () => startListening(app, { host: "127.0.0.1", port: 0 }));
  return scope.start("client", () => startInternalClient({ baseUrl: url, credentials: {}, timeoutMs: 5_000 }));
}

const serviceThatThrows = (error: ApiError) =>
  clientOf(() => {
    throw error;
  });

it("the account service is asked for an account with its current values, unless the caller wants no values", async () => {
  const asked: unknown[] = [];
  const account = await clientOf((request) => {
    asked.push(request.query);
    throw new ApiError("ACCOUNT_NOT_FOUND");
  });
  const read = createAccountReader(account);
  await read(ACCOUNT);
  await read(ACCOUNT, { valuation: "none" });
  expect(asked).toEqual([{}, { valuation: "none" }]);
});

it("an account that the account service does not know has no values and no positions", async () => {
  const account = await serviceThatThrows(new ApiError("ACCOUNT_NOT_FOUND"));
  expect(await createAccountReader(account)(ACCOUNT)).toBeNull();
  expect(await createPositionReader(account)(ACCOUNT, AT, { needsPrices: false })).toBeNull();
});

it("a 404 that does not say that the account is unknown is a failure of the account service", async () => {
  const account = await serviceThatThrows(new ApiError("NOT_FOUND"));
  await expect(createAccountReader(account)(ACCOUNT)).rejects.toThrow(DependencyError);
  await expect(createPositionReader(account)(ACCOUNT, AT, { needsPrices: false })).rejects.toThrow(DependencyError);
});
