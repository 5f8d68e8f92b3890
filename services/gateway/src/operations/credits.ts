import { walletToWire } from "@kapi/admission";
import { ListCreditUsageQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { RequestValidator } from "./validate.ts";

/** Credit balance, prices and usage of an organization. */
export function creditOperations({
  prices,
  readCreditUsage,
}: Pick<Dependencies, "prices" | "readCreditUsage">): OperationTable<
  "getCreditBalance" | "getCreditPrices" | "listCreditUsage"
> {
  return {
    /** The wallet that the charge of this request returned. */
    getCreditBalance: async ({ charge }) => {
      const { wallet } = await charge.read();
      return { status: 200, body: JSON.stringify({ wallet: walletToWire(wallet) }) };
    },

    /** The prices in force, from the directory. */
    getCreditPrices: async ({ charge }) => {
      await charge.read();
      return { status: 200, body: JSON.stringify({ prices: prices() }) };
    },

    /** The organization service's response, unchanged. */
    listCreditUsage: async (call) => {
      const validator = new RequestValidator();
      const query = validator.query(call, ListCreditUsageQuery);
      const error = validator.error();
      if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      await call.charge.read();
      return { status: 200, body: await readCreditUsage(call.caller.organizationId, query) };
    },
  };
}
