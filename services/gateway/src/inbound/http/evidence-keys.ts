import { EVIDENCE_KEYS_PATH } from "@kapi/contracts";
import type { FastifyInstance } from "@kapi/http";

import type { ReadEvidenceKeys } from "../../domain/ports.ts";
import { answeredFromCache, entityTag } from "./entity-tag.ts";

/**
 * Serves the public keys of evidence: free, without a management key, and cacheable, so that
 * anybody can verify a document.
 */
export function registerEvidenceKeysRoutes(app: FastifyInstance, keys: ReadEvidenceKeys): void {
  app.get(EVIDENCE_KEYS_PATH, { exposeHeadRoute: true }, async (request, reply) => {
    const bytes = await keys();
    if (answeredFromCache(request, reply, entityTag(bytes))) return reply;
    return reply.header("content-type", "application/json; charset=utf-8").send(bytes);
  });
}
