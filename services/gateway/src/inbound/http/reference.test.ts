import { type OperationId, OPERATIONS } from "@kapi/contracts";
import { asyncApiDocument } from "@kapi/contracts/asyncapi";
import { openApiDocument } from "@kapi/contracts/openapi";
import { createHttpServer } from "@kapi/http";
import { systemClock } from "@kapi/kernel";
import { createLogger, Health } from "@kapi/runtime";
import { describe, expect, it } from "vitest";

import type { Operation } from "../../operations/call.ts";
import { registerDocsRoutes } from "./docs-routes.ts";
import { registerReferenceRoutes } from "./reference.ts";
import { registerOtherMethodRoutes } from "./other-methods.ts";
import { registerOperationRoutes, type RouteDependencies } from "./routes.ts";

const logger = createLogger({ service: "test", level: "error" });

/**
 * The gateway's routes without dependencies: no request of these tests uses a dependency.
 */
function gateway(onRoute: (method: string, url: string) => void) {
  const app = createHttpServer({ logger, health: new Health(), bodyErrors: "when-parsed" });
  app.addHook("onRoute", ({ method, url }) => {
    for (const each of [method].flat()) onRoute(each, url);
  });
  const unused = (): never => {
    throw new Error("no request uses this dependency");
  };
  const dependencies: RouteDependencies = {
    directory: { key: () => undefined, server: () => undefined, prices: unused },
    admission: { admit: unused, refund: unused },
    refunds: { add: unused },
    requestLog: { add: unused },
    wallets: { available: unused },
    clock: systemClock,
    logger,
    isStopping: () => false,
    maxStreamMs: 1,
  };
  const operations = Object.fromEntries(Object.keys(OPERATIONS).map((id) => [id, unused]));
  registerOperationRoutes(app, dependencies, operations as unknown as Record<OperationId, Operation>);
  return app;
}

describe("the reference", () => {
  it("describes exactly the routes below /api", async () => {
    const routes: string[] = [];
    const app = gateway((method, url) => routes.push(`${method} ${url.replaceAll(/:(\w+)/g, "{$1}")}`));
    await app.ready();
    const described = Object.entries(openApiDocument().paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.filter((route) => route.includes(" /api/")).toSorted()).toEqual(described.toSorted());
  });

  it("answers 304 to a client that has the current copy", async () => {
    const app = gateway(() => undefined);
    registerReferenceRoutes(app);
    for (const url of ["/openapi.json", "/asyncapi.json", "/docs/reference/js/scalar.js"]) {
      const first = await app.inject(url);
      expect(first.statusCode).toBe(200);
      const tag = String(first.headers["etag"]);
      // A proxy that compresses a document makes its tag weak.
      for (const given of [tag, `W/${tag}`, `"another", W/${tag}`, "*"]) {
        const again = await app.inject({ url, headers: { "if-none-match": given } });
        expect([given, again.statusCode, again.body.length]).toEqual([given, 304, 0]);
      }
      for (const given of ['"another"', `W/"another"`, `${tag.slice(0, -1)}x"`, tag.replaceAll('"', ""), ""]) {
        const again = await app.inject({ url, headers: { "if-none-match": given } });
        expect([given, again.statusCode]).toEqual([given, 200]);
      }
    }
  });

  it("answers HEAD as GET, without a body", async () => {
    const app = gateway(() => undefined);
    registerReferenceRoutes(app);
    registerDocsRoutes(app);
    const urls = ["/openapi.json", "/asyncapi.json", "/docs", "/docs/quickstart", "/docs/search.json", "/docs/nothing"];
    for (const url of urls) {
      const full = await app.inject(url);
      const head = await app.inject({ method: "HEAD", url });
      expect([url, head.statusCode, head.body]).toEqual([url, full.statusCode, ""]);
      for (const name of ["content-type", "content-length", "etag"])
        expect(head.headers[name]).toBe(full.headers[name]);
    }
    for (const url of ["/docs/reference", "/docs/reference/"]) {
      const full = await app.inject(url);
      const head = await app.inject({ method: "HEAD", url });
      expect([url, head.statusCode, head.body]).toEqual([url, full.statusCode, ""]);
      expect(head.headers["location"]).toBe(full.headers["location"]);
      expect(head.headers["content-type"]?.toLowerCase()).toBe(full.headers["content-type"]?.toLowerCase());
    }
  });

  it("has the AsyncAPI document, and the OpenAPI document links to it", async () => {
    const app = gateway(() => undefined);
    registerReferenceRoutes(app);
    const answer = await app.inject("/asyncapi.json");
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(answer.json()).toEqual(asyncApiDocument());
    expect(JSON.stringify(openApiDocument()["info"])).toContain("](/asyncapi.json)");
  });

  it("has a page whose scripts all have its nonce, and that names no CDN", async () => {
    const app = gateway(() => undefined);
    registerReferenceRoutes(app);
    const page = await app.inject("/docs/reference/");
    const nonce = /'nonce-([^']+)'/.exec(String(page.headers["content-security-policy"]))?.[1];
    const scripts = [...page.body.matchAll(/<script[^>]*>/g)].map(([tag]) => tag);
    expect(scripts).not.toEqual([]);
    for (const tag of scripts) expect(tag).toContain(`nonce="${nonce}"`);
    expect(page.body).not.toContain("://cdn");
  });
});

it("a path responds 405 with Allow to every method that it does not have", async () => {
  const app = gateway(() => undefined);
  registerOtherMethodRoutes(app);
  for (const method of ["GET", "HEAD", "PUT", "OPTIONS"] as const) {
    const url = "/api/v1/management/servers/x/accounts/1000/enable";
    const answer = await app.inject({ method, url });
    expect([answer.statusCode, answer.headers["allow"]]).toEqual([405, "POST"]);
  }
  const both = await app.inject({ method: "PUT", url: "/api/v1/management/servers/x/accounts" });
  expect(both.headers["allow"]).toBe("GET, POST");
});
