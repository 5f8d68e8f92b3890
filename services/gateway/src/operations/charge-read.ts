import type { Admitted } from "@kapi/admission";
import type { ApiError } from "@kapi/http";

import type { Call } from "./call.ts";
import type { Needs } from "./needs.ts";

export type ChargeNeeds = Pick<Needs, "admission" | "directory">;

/** Charges the read price. Throws 401, 429, 402 or 500, and charges nothing then. */
export async function chargeRead({ admission, directory }: ChargeNeeds, call: Call): Promise<Admitted> {
  const readPrice = directory.prices().read;
  const admitted = await admission.admit({
    key: call.key,
    operation: call.operation,
    requestId: call.requestId,
    chargeId: call.chargeId,
    mode: "consume",
    price: readPrice,
    readPrice,
  });
  call.admitted = admitted;
  return admitted;
}

/**
 * Charges the read price, and only then throws `finding`: 429 and 402 come before what is wrong with the request, and 400,
 * 404 and 409 cost the read price (decisions, 1.1 and 7.1).
 */
export async function refuse(needs: ChargeNeeds, call: Call, finding: ApiError): Promise<never> {
  await chargeRead(needs, call);
  throw finding;
}
