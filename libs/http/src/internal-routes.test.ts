import { type InternalRoutes, queryInteger } from "@kapi/contracts";
import { createLogger, Health } from "@kapi/runtime";
import { describe, expect, it } from "vitest";
import { z } from "zod";

import type { InternalClient } from "./internal-client.ts";
import { callRoute, callRouteRaw, serve, serveRaw, streamRoute } from "./internal-routes.ts";
import { createHttpServer } from "./server.ts";

const SERVER_ID = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
const ROUTES = {
  list: {
    method: "GET",
    path: "/internal/servers/:serverId/things",
    callers: ["gateway"],
    query: z.object({ limit: queryInteger(1, 10).default(5) }),
    answer: z.object({ serverId: z.string(), limit: z.number() }),
  },
  create: {
    method: "POST",
    path: "/internal/things",
    callers: ["gateway"],
    body: z.object({ names: z.array(z.string()) }),
    success: 201,
    answer: z.object({ count: z.number() }),
  },
  render: { method: "GET", path: "/internal/lines", callers: ["gateway"], answer: z.string() },
} as const satisfies InternalRoutes;

function served() {
  const app = createHttpServer({ logger: createLogger({ service: "test", level: "silent" }), health: new Health() });
  serve(app, ROUTES.list, ({ params, query }) => ({ ...params, ...query }));
  serve(app, ROUTES.create, ({ body }) => Promise.resolve({ count: body.names.length }));
  serveRaw(app, ROUTES.render, (_input, _request, reply) => reply.header("content-type", "text/plain").send("a\nb"));
  return app;
}

describe("a served route", () => {
  it("passes the parsed parts of the request to its handler, and sends the result", async () => {
    const list = await served().inject(`/internal/servers/${SERVER_ID.toUpperCase()}/things?limit=7`);
    expect([list.statusCode, list.json()]).toEqual([200, { serverId: SERVER_ID, limit: 7 }]);
  });

  it("answers with the declared status, unless the request is rejected", async () => {
    const app = served();
    const created = await app.inject({ method: "POST", url: "/internal/things", payload: { names: ["a", "b"] } });
    expect([created.statusCode, created.json()]).toEqual([201, { count: 2 }]);
    const refused = await app.inject({ method: "POST", url: "/internal/things", payload: { names: "a" } });
    expect(refused.statusCode).toBe(400);
    expect(refused.json()).toMatchObject({ issues: [{ path: ["names"] }] });
  });

  it("answers 400 with the issues of only the first part of the request that does not match", async () => {
    const { statusCode, body } = await served().inject("/internal/servers/none/things?limit=99");
    expect(statusCode).toBe(400);
    expect(body).toContain("serverId");
    expect(body).not.toContain("limit");
  });

  it("may send its response itself", async () => {
    const { headers, body } = await served().inject("/internal/lines");
    expect([headers["content-type"], body]).toEqual(["text/plain", "a\nb"]);
  });
});

describe("a call to a route", () => {
  const options = { timeoutMs: 5, repeatable: true };
  const calls: unknown[] = [];
  const record = (...call: readonly unknown[]): Promise<never> => {
    calls.push(call);
    return Promise.resolve({} as never);
  };
  const client: InternalClient = { request: record, json: record, stream: record };

  it("has the method, path and response schema of the declaration, and the caller's body and options", async () => {
    const asked = { params: { serverId: SERVER_ID }, query: { limit: 7 } };
    await callRoute(client, ROUTES.create, { body: { names: ["a"] } }, options);
    await callRouteRaw(client, ROUTES.list, asked);
    await streamRoute(client, ROUTES.list, asked, options);
    const path = `/internal/servers/${SERVER_ID}/things?limit=7`;
    expect(calls).toEqual([
      ["POST", "/internal/things", { names: ["a"] }, ROUTES.create.answer, options],
      ["GET", path, undefined, undefined],
      ["GET", path, options],
    ]);
  });
});
