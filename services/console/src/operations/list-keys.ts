import type { ConsoleKey } from "@kapi/contracts";

import { consoleKeyOf } from "../domain/management-key.ts";
import type { LedgerContext } from "./ledger-context.ts";

/** Most keys of one answer; revoked ones are the first to be left out. */
const MAX_KEYS = 1_000;

/** An organization's management keys: active ones first, then the newest first. */
export async function listKeys(
  { store, clock }: Pick<LedgerContext, "store" | "clock">,
  organizationId: string,
): Promise<ConsoleKey[]> {
  const keys = await store.readKeys(organizationId, { limit: MAX_KEYS, offset: 0 });
  return keys.map((key) => consoleKeyOf(key, clock.nowMs()));
}
