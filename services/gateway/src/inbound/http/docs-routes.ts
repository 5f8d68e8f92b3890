/** Serves the documentation site: free, without a key, and without anything from other origins. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "@kapi/http";

import { DOCS } from "./docs/layout.ts";
import { DocsSite, type SiteFile } from "./docs/site.ts";
import { answeredFromCache, entityTag } from "./entity-tag.ts";

const NOT_FOUND = 404;
const HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
} as const;

/** Registers the pages at `/docs`. */
export function registerDocsRoutes(app: FastifyInstance): void {
  const site = new DocsSite();
  const tags = new Map<string, string>();
  const send = (request: FastifyRequest, reply: FastifyReply, path: string): FastifyReply => {
    const file = site.file(path);
    if (file === null) return withFile(reply.code(NOT_FOUND), site.notFound());
    const tag = tags.get(path) ?? entityTag(Buffer.from(file.text));
    tags.set(path, tag);
    reply.headers(HEADERS);
    return answeredFromCache(request, reply, tag) ? reply : withFile(reply, file);
  };
  const options = { exposeHeadRoute: true };
  app.get(DOCS, options, (request, reply) => send(request, reply, ""));
  app.get<{ Params: { "*": string } }>(`${DOCS}/*`, options, (request, reply) =>
    send(request, reply, request.params["*"]),
  );
}

function withFile(reply: FastifyReply, { contentType, text }: SiteFile): FastifyReply {
  return reply.headers(HEADERS).header("content-type", contentType).send(text);
}
