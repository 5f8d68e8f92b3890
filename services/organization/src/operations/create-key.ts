import { randomBytes } from "node:crypto";

import { secretHashOf } from "@kapi/admission";
import type { KeyEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { randomBase32 } from "@kapi/kernel";

import type { OperatorContext } from "./operator-context.ts";

const KEY_ID_CHARACTERS = 16;
const SECRET_BYTES = 32;

export type CreateKey = Pick<KeyEntry, "organizationId" | "scopes" | "serverIds" | "expiresAt" | "rateLimit">;

/** Makes a management key. The key itself is told here only: what is kept is the hash of its secret (decisions, 12). */
export async function createKey(
  context: OperatorContext,
  wanted: CreateKey,
): Promise<{ keyId: string; managementKey: string }> {
  if (!(await context.store.organizationExists(wanted.organizationId))) throw new ApiError("NOT_FOUND");
  const keyId = randomBase32(KEY_ID_CHARACTERS);
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  await context.store.transaction((tx) =>
    tx.insertKey({ ...wanted, keyId, secretHash: secretHashOf(secret) }, context.clock.nowMs()),
  );
  await context.publish();
  return { keyId, managementKey: `kapi.${keyId}.${secret}` };
}
