import { randomBytes } from "node:crypto";

import { secretHashOf } from "@kapi/admission";
import type { KeyEntry } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { randomBase32 } from "@kapi/kernel";

import type { AuditCaller } from "../../domain/audit.ts";
import type { ManagementKey } from "../../domain/directory/management-key.ts";
import type { DirectoryContext } from "./directory-context.ts";

const KEY_ID_CHARACTERS = 16;
const SECRET_BYTES = 32;
/** Maximum number of usable keys of an organization. */
const MAX_ACTIVE_KEYS = 100;
/**
 * Maximum number of all keys of an organization: every process that answers requests keeps them in
 * memory.
 */
const MAX_KEYS = 10_000;

/** The properties of a key that the caller chooses. */
export type CreateKey = Pick<
  KeyEntry,
  "organizationId" | "scopes" | "serverIds" | "expiresAt" | "rateLimit" | "allowedNetworks"
> &
  Pick<ManagementKey, "name">;

/**
 * Creates a management key. Only this answer has the key; the hash of its secret is stored
 * (decisions, 12). Throws 404 for an unknown organization, and 400 if `expiresAt` has passed or the
 * organization has too many keys.
 */
export async function createKey(
  context: DirectoryContext,
  wanted: CreateKey,
  by: AuditCaller,
): Promise<{ key: ManagementKey; managementKey: string }> {
  const { store, clock } = context;
  if (!(await store.organizationExists(wanted.organizationId))) throw new ApiError("NOT_FOUND");
  if (wanted.expiresAt !== null && Date.parse(wanted.expiresAt) <= clock.nowMs()) {
    const issue = { path: ["expiresAt"], code: "custom", message: "must be in the future" };
    throw new ApiError("VALIDATION_FAILED", { issues: [issue] });
  }
  const keyId = randomBase32(KEY_ID_CHARACTERS);
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  const { organizationId, name, scopes, serverIds, expiresAt, allowedNetworks } = wanted;
  const nowMs = clock.nowMs();
  const key = await store.transaction(async (tx) => {
    rejectTooMany(await tx.lockAndCountKeys(organizationId, nowMs));
    const networks = allowedNetworks === null || allowedNetworks === undefined ? {} : { networks: allowedNetworks };
    // `servers` is only the number of servers, because their list has no limit. Null: all servers.
    const details = { name, scopes, servers: serverIds?.length ?? null, expiresAt, ...networks };
    const subject = { type: "key", id: keyId } as const;
    tx.recordAudit([{ ...by, organizationId, action: "key.created", subject, details, atMs: nowMs }]);
    return tx.insertKey({ ...wanted, keyId, secretHash: secretHashOf(secret) }, nowMs);
  });
  await context.publish();
  return { key, managementKey: `kapi.${keyId}.${secret}` };
}

function rejectTooMany({ active, total }: { readonly active: number; readonly total: number }): void {
  const message =
    active >= MAX_ACTIVE_KEYS
      ? `an organization has at most ${MAX_ACTIVE_KEYS} keys that can be used: revoke one first`
      : `an organization has at most ${MAX_KEYS} keys, including revoked and expired keys`;
  if (active < MAX_ACTIVE_KEYS && total < MAX_KEYS) return;
  throw new ApiError("VALIDATION_FAILED", { issues: [{ path: [], code: "too_many_keys", message }] });
}
