import {
  ApiError,
  createHttpServer,
  type FastifyInstance,
  startInternalClient,
  startListening,
  tooManyConcurrentRequests,
} from "@kapi/http";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { afterAll, expect, it } from "vitest";

import { type HistoryOwner, OwnerUnavailable } from "../../domain/ports.ts";
import { createHistoryOwner } from "./history-owner.ts";

const QUERY = { from: null, to: null, limit: 1 };
const scope = new Scope();
afterAll(() => scope.stop());

/** A client of an owner that answers with the result of `answer`. */
async function ownerThat(answer: () => unknown): Promise<HistoryOwner> {
  const logger = createLogger({ service: "test", level: "silent" });
  const app: FastifyInstance = createHttpServer({ logger, health: new Health() });
  app.get("/internal/servers/:serverId/accounts/:accountNumber/history", answer);
  const { url } = await scope.start("server", () => startListening(app, { host: "127.0.0.1", port: 0 }));
  return createHistoryOwner(
    await scope.start("client", () => startInternalClient({ baseUrl: url, credentials: {}, timeoutMs: 5_000 })),
  );
}

it.each([
  ["answers 429, because too many calls of the organization wait for its trading server", tooManyConcurrentRequests()],
  ["is unavailable", new ApiError("DEPENDENCY_UNAVAILABLE")],
])("an owner counts as unavailable while it %s", async (_state, error) => {
  const owner = await ownerThat(() => {
    throw error;
  });
  await expect(owner.newest("server", "10000001", QUERY)).rejects.toThrow(OwnerUnavailable);
});

it("an owner that rejects the request of an export does not count as unavailable", async () => {
  const owner = await ownerThat(() => {
    throw new ApiError("VALIDATION_FAILED");
  });
  const read = owner.newest("server", "10000001", QUERY);
  await expect(read).rejects.toThrow("status 400");
  await expect(read).rejects.not.toThrow(OwnerUnavailable);
});

it("an account that an owner does not know has no history", async () => {
  const owner = await ownerThat(() => {
    throw new ApiError("ACCOUNT_NOT_FOUND");
  });
  expect(await owner.newest("server", "10000001", QUERY)).toBeNull();
});

it("a 404 that does not say that the account is unknown counts as an unavailable owner", async () => {
  const owner = await ownerThat(() => {
    throw new ApiError("NOT_FOUND");
  });
  await expect(owner.newest("server", "10000001", QUERY)).rejects.toThrow(OwnerUnavailable);
});
