import { randomUUID } from "node:crypto";

import { createHttpServer } from "@kapi/http";
import { createLogger, Health } from "@kapi/runtime";
import { expect, it } from "vitest";

import type { Engine } from "../../operations/engine.ts";
import { TradingServer } from "../../operations/server.ts";
import { registerControlMarketRoutes } from "./control-market-routes.ts";

const serverId = randomUUID();

/** The routes of a server without accounts. */
function simulator() {
  const state = { configuration: {}, lastRolloverDay: 0 } as unknown as ConstructorParameters<typeof TradingServer>[2];
  const server = new TradingServer(serverId, { seed: "a", recording: null, recordingSpeed: 1 }, state, 0);
  const engine = {
    server: () => server,
    context: () => ({ nowMs: 1 }),
    committer: { rejectWhenFull: () => undefined, storeServer: () => undefined, stored: () => Promise.resolve() },
  } as unknown as Engine;
  const logger = createLogger({ service: "test", level: "silent" });
  const app = createHttpServer({ logger, health: new Health() });
  registerControlMarketRoutes(app, engine, 250);
  return app;
}

const USDJPY = `/control/v1/servers/${serverId}/prices/USDJPY`;

it("a price of one point is accepted, and a price that is rounded to 0 is rejected", async () => {
  const app = simulator();
  const set = (payload: object) => app.inject({ method: "PUT", url: USDJPY, payload });
  const least = { bid: 0.001, ask: 0.001, hold: true };
  expect((await set(least)).json()).toEqual({ symbol: "USDJPY", bid: 0.001, ask: 0.001, held: true });
  const rejected = await set({ bid: 0.0001, ask: 0.0001, hold: true });
  const error = "the price 0.0001 is below 0.001, the lowest price of USDJPY";
  expect([rejected.statusCode, rejected.json()]).toMatchObject([400, { error }]);
  const moved = await app.inject({ method: "POST", url: `${USDJPY}/move`, payload: { points: -1 } });
  expect([moved.statusCode, moved.json()]).toMatchObject([
    400,
    { error: "the price 0 is below 0.001, the lowest price of USDJPY" },
  ]);
  const after = await app.inject(`/control/v1/servers/${serverId}/prices`);
  const prices = expect.arrayContaining([{ symbol: "USDJPY", bid: 0.001, ask: 0.001, held: true }]) as unknown;
  expect(after.json()).toMatchObject({ prices });
});

it("a price that is set without an ask gets one, and an ask below the bid is rejected", async () => {
  const app = simulator();
  const set = (payload: object) => app.inject({ method: "PUT", url: USDJPY, payload });
  expect((await set({ bid: 150 })).json()).toMatchObject({ bid: 150, ask: 150.009 });
  expect((await set({ bid: 150, ask: 149 })).json()).toMatchObject({ error: "the ask is below the bid" });
  const moved = await app.inject({ method: "POST", url: `${USDJPY}/move`, payload: { percent: 10 } });
  expect(moved.json()).toMatchObject({ bid: 165, ask: 165.009 });
});
