import { actorFromText } from "@kapi/contracts";
import { isUuid } from "@kapi/kernel";

import type { Directory, Users } from "../domain/ports.ts";

/**
 * The names of keys and people of an organization, by the text of each: `key/<id>`, `user/<id>`.
 * Unknown ids and ids of other organizations are left out: a caller must not learn names of other
 * organizations.
 */
export async function nameActors(
  { directory, users }: { readonly directory: Pick<Directory, "keys">; readonly users: Pick<Users, "names"> },
  organizationId: string,
  actors: readonly string[],
): Promise<Record<string, string>> {
  const wanted = actors.flatMap((text) => actorFromText(text) ?? []);
  const idsOf = (type: string): string[] => wanted.filter((actor) => actor.type === type).map(({ id }) => id);
  const [keyIds, userIds] = [new Set(idsOf("key")), idsOf("user").filter(isUuid)];
  const [keys, people] = await Promise.all([
    keyIds.size === 0 ? [] : directory.keys(organizationId),
    userIds.length === 0 ? new Map<string, string>() : users.names(organizationId, userIds),
  ]);
  return Object.fromEntries([
    ...keys.flatMap(({ keyId, name }) => (keyIds.has(keyId) ? [[`key/${keyId}`, name] as const] : [])),
    ...Array.from(people, ([userId, name]) => [`user/${userId}`, name] as const),
  ]);
}
