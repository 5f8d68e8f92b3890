import type { Logger } from "@kapi/runtime";

import type { FormerUserSource, Users } from "../domain/ports.ts";

interface TakeOverUsersDependencies {
  readonly users: Pick<Users, "takeOver">;
  readonly source: FormerUserSource;
  readonly logger: Logger;
}

/**
 * Copies some users of the previous release from the organization service. Returns the number of
 * users that were read; a user whose e-mail address belongs to another user is not copied. A repeat
 * changes nothing, unless a process of that release has changed the user in the meantime.
 */
export async function takeOverUsers({ users, source, logger }: TakeOverUsersDependencies): Promise<number> {
  const former = await source.read();
  if (former.length === 0) return 0;
  for (const userId of await users.takeOver(former))
    logger.error(
      { userId },
      "a user of the previous release is not copied: the e-mail address belongs to another user",
    );
  await source.moved(former);
  return former.length;
}
