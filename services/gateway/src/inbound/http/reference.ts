/**
 * The API reference: the OpenAPI document at `/openapi.json`, a page with it at `/docs/reference`,
 * and the AsyncAPI document of the live stream at `/asyncapi.json`, to which the page links. All
 * are free and need no key. The documents are equal in every process, the page differs by its
 * nonce. The page loads nothing from other origins; its Content-Security-Policy forbids it.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { asyncApiDocument } from "@kapi/contracts/asyncapi";
import { openApiDocument, SAMPLE_BASE_URL } from "@kapi/contracts/openapi";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "@kapi/http";
import apiReference, { type FastifyApiReferenceOptions } from "@scalar/fastify-api-reference";

import { answeredFromCache, entityTag } from "./entity-tag.ts";

const DOCUMENT_PATH = "/openapi.json";
const LIVE_DOCUMENT_PATH = "/asyncapi.json";
const PAGE_PATH = "/docs/reference";
const NONCE_BYTES = 16;
const MOVED_PERMANENTLY = 301;

/** Serves the documents and the page. */
export function registerReferenceRoutes(app: FastifyInstance): void {
  registerDocumentRoutes(app, DOCUMENT_PATH, openApiDocument());
  registerDocumentRoutes(app, LIVE_DOCUMENT_PATH, asyncApiDocument());
  const nonce = randomBytes(NONCE_BYTES).toString("base64");
  const onRequest = guardPage(nonce);
  app.register(apiReference, { ...pageOptions(nonce), hooks: { onRequest } });
  // The package has no routes for HEAD.
  app.head(PAGE_PATH, { onRequest }, (_request, reply) => reply.redirect(`${PAGE_PATH}/`, MOVED_PERMANENTLY));
  app.head(`${PAGE_PATH}/`, { onRequest }, (_request, reply) =>
    reply.header("content-type", "text/html; charset=utf-8").send(),
  );
}

/** Serves a document. */
function registerDocumentRoutes(app: FastifyInstance, path: string, document: object): void {
  const bytes = Buffer.from(`${JSON.stringify(document)}\n`);
  const tag = entityTag(bytes);
  app.get(path, { exposeHeadRoute: true }, (request, reply) => {
    if (answeredFromCache(request, reply, tag)) return reply;
    return reply.header("content-type", "application/json; charset=utf-8").send(bytes);
  });
}

/**
 * The page has no button that sends API requests: management keys do not belong in a browser.
 */
function pageOptions(nonce: string): FastifyApiReferenceOptions {
  return {
    routePrefix: PAGE_PATH,
    configuration: {
      url: DOCUMENT_PATH,
      pageTitle: "Trading account management API",
      nonce,
      // Code samples show the origin of the page as the base URL. The source text of this function
      // runs in the browser.
      customFetch: originInSamples(),
      theme: "default",
      layout: "modern",
      hiddenClients: true,
      hideTestRequestButton: true,
      hideClientButton: true,
      documentDownloadType: "json",
      showDeveloperTools: "never",
      withDefaultFonts: false,
      telemetry: false,
      proxyUrl: "",
      agent: { disabled: true, hideAddApi: true },
      mcp: { disabled: true },
    },
  };
}

function originInSamples(): typeof fetch {
  const source = `async (input, init) => {
    const answer = await fetch(input, init);
    const text = (await answer.text()).replaceAll(${JSON.stringify(SAMPLE_BASE_URL)}, location.origin);
    return new Response(text, { status: answer.status, headers: answer.headers });
  }`;
  const standIn: typeof fetch = () => Promise.reject(new Error("customFetch was called outside a browser"));
  standIn.toString = () => source;
  return standIn;
}

function guardPage(nonce: string) {
  // The script of the page is a text in the module of the package.
  const scriptTag = entityTag(readFileSync(createRequire(import.meta.url).resolve("@scalar/fastify-api-reference")));
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    // The page adds inline styles.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    reply
      .header("content-security-policy", policy)
      .header("x-content-type-options", "nosniff")
      .header("referrer-policy", "no-referrer");
    if (request.url.endsWith(".js") && answeredFromCache(request, reply, scriptTag)) return;
    done();
  };
}
