import { type PageQuery, type PageNumbers, pageNumbersOf } from "@kapi/contracts";

import type { Directory, User, Users } from "../domain/ports.ts";

/**
 * Users of an organization, newest first, including disabled users. Throws 404 for an unknown
 * organization.
 */
export async function listUsers(
  { users, directory }: { readonly users: Users; readonly directory: Pick<Directory, "organizationName"> },
  organizationId: string,
  query: PageQuery,
): Promise<{ users: User[]; pagination: PageNumbers }> {
  await directory.organizationName(organizationId);
  const { page, limit } = query;
  const [found, total] = await Promise.all([
    users.page(organizationId, { limit, offset: (page - 1) * limit }),
    users.count(organizationId),
  ]);
  return { users: found, pagination: pageNumbersOf(query, total) };
}
