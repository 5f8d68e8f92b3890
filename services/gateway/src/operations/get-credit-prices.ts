import type { Operation } from "./call.ts";
import { chargeRead } from "./charge-read.ts";
import type { Needs } from "./needs.ts";

/** GET credits/prices: those in force, from the directory. */
export function getCreditPrices(needs: Needs): Operation {
  return async (call) => {
    await chargeRead(needs, call);
    return { status: 200, body: JSON.stringify({ prices: needs.directory.prices() }) };
  };
}
