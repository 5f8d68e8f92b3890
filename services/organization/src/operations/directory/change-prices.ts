import type { Prices } from "@kapi/contracts";

import type { DirectoryContext } from "./directory-context.ts";

/** Sets the prices of all operations. Open reservations settle at their own price. */
export async function changePrices(
  context: Pick<DirectoryContext, "store" | "publish">,
  prices: Prices,
): Promise<void> {
  await context.store.transaction((tx) => tx.setPrices(prices));
  await context.publish();
}
