import type { KeyUse, ShownKey } from "@kapi/contracts";

import type { Directory } from "../domain/ports.ts";
import type { RequestLogStore } from "../domain/request-log.ts";

/** A key with its last use; null: no use is recorded. */
export type ListedKey = ShownKey & { readonly lastUse: Omit<KeyUse, "keyId"> | null };

/** The keys of an organization, each with its last use. */
export async function listKeys(
  {
    directory,
    requestLog,
  }: { readonly directory: Pick<Directory, "keys">; readonly requestLog: Pick<RequestLogStore, "lastUses"> },
  organizationId: string,
): Promise<readonly ListedKey[]> {
  const keys = await directory.keys(organizationId);
  const uses = await requestLog.lastUses(
    organizationId,
    keys.map(({ keyId }) => keyId),
  );
  return keys.map((key) => Object.assign({}, key, { lastUse: uses.get(key.keyId) ?? null }));
}
