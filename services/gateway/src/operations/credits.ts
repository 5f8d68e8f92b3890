import { walletToWire } from "@kapi/admission";
import { PageQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { Findings } from "./validate.ts";

/** What an organization has, pays and has used. */
export function creditOperations({
  prices,
  readCreditUsage,
}: Pick<Dependencies, "prices" | "readCreditUsage">): OperationTable<
  "getCreditBalance" | "getCreditPrices" | "listCreditUsage"
> {
  return {
    /** The wallet as it is after this very request was charged; no other call is made. */
    getCreditBalance: async ({ charge }) => {
      const { wallet } = await charge.read();
      return { status: 200, body: JSON.stringify({ wallet: walletToWire(wallet) }) };
    },

    /** The prices in force, from the directory. */
    getCreditPrices: async ({ charge }) => {
      await charge.read();
      return { status: 200, body: JSON.stringify({ prices: prices() }) };
    },

    /** The organization service's bytes. */
    listCreditUsage: async (call) => {
      const findings = new Findings();
      const query = findings.query(call, PageQuery);
      const error = findings.error();
      if (error !== null || query === null) return call.charge.refuse(error ?? new ApiError("VALIDATION_FAILED"));
      await call.charge.read();
      return { status: 200, body: await readCreditUsage(call.key.organizationId, query) };
    },
  };
}
