import { walletToWire } from "@kapi/admission";

import type { Operation } from "./call.ts";
import { chargeRead } from "./charge-read.ts";
import type { Needs } from "./needs.ts";

/** GET credits/balance: the wallet as it is after this very request was charged; no other call is made. */
export function getCreditBalance(needs: Needs): Operation {
  return async (call) => {
    const { wallet } = await chargeRead(needs, call);
    return { status: 200, body: JSON.stringify({ wallet: walletToWire(wallet) }) };
  };
}
