import { createHash } from "node:crypto";

import { type FastifyReply, type FastifyRequest, hasEntityTag } from "@kapi/http";

const NOT_MODIFIED = 304;
/** How long a browser may use its copy of a document without a request, in seconds. */
const MAX_AGE_S = 300;

/** Returns the entity tag of a document. */
export function entityTag(bytes: Buffer): string {
  return `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`;
}

/** Sets the cache headers. Responds 304 and returns true if the browser's copy is current. */
export function answeredFromCache(request: FastifyRequest, reply: FastifyReply, tag: string): boolean {
  reply.header("etag", tag).header("cache-control", `public, max-age=${MAX_AGE_S}`);
  if (!hasEntityTag(request.headers["if-none-match"], tag)) return false;
  void reply.code(NOT_MODIFIED).send();
  return true;
}
