import type { Prices } from "@kapi/contracts";

import type { OperatorContext } from "../operator-context.ts";

/** Sets the prices of all operations from now on; what is reserved settles at the price it was reserved at. */
export async function changePrices(context: OperatorContext, prices: Prices): Promise<void> {
  await context.store.transaction((tx) => tx.setPrices(prices));
  await context.publish();
}
