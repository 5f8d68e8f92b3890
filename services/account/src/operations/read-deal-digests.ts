import type { DealDigests } from "@kapi/contracts";

import type { DealDigestReader } from "../domain/digest-reads.ts";

/** The digests of the deals of some accounts on one day, or why there are none. */
export async function readDealDigests(
  reader: DealDigestReader,
  serverId: string,
  { date, accountNumbers }: { readonly date: string; readonly accountNumbers: readonly string[] },
): Promise<DealDigests> {
  const state = await reader.state(serverId, date);
  if (state !== "made") return { state };
  return { state, digests: await reader.find(serverId, date, accountNumbers) };
}
