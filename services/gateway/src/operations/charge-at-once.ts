import { ApiError } from "@kapi/http";
import { uuidV7 } from "@kapi/kernel";

import type { Call } from "./call.ts";
import type { ChargeNeeds } from "./charge-read.ts";
import type { Needs } from "./needs.ts";

const TOO_MANY_REQUESTS = 429;

/** Charges a change that is made within the request. Throws 401, 429, 402 or 500, and charges nothing then. */
export async function chargeAtOnce({ admission, directory }: ChargeNeeds, call: Call): Promise<void> {
  const prices = directory.prices();
  call.admitted = await admission.admit({
    key: call.key,
    operation: call.operation,
    requestId: call.requestId,
    address: call.address,
    chargeId: call.chargeId,
    mode: "consume",
    price: prices[call.contract.price],
    readPrice: prices.read,
  });
}

/**
 * Throws what only the owner could find, after {@link chargeAtOnce}: the price is given back, and
 * the read price charged instead unless it is a 429 (decisions, 7.1). The request was admitted:
 * neither its rate limit is counted again, nor is it refused for want of credits.
 */
export async function refuseCharged(
  { admission, directory, clock }: ChargeNeeds & Pick<Needs, "clock">,
  call: Call,
  finding: ApiError,
): Promise<never> {
  const { key, operation, requestId, chargeId } = call;
  const { remaining } = await admission.refund({ key, operation, requestId, chargeId });
  call.admitted = { charged: 0, remaining: remaining ?? call.admitted?.remaining ?? 0 };
  if (finding.status === TOO_MANY_REQUESTS) throw finding;
  const readPrice = directory.prices().read;
  try {
    call.admitted = await admission.admit({
      key: { ...key, rateLimit: null },
      operation,
      requestId,
      address: call.address,
      chargeId: uuidV7(clock.nowMs()),
      mode: "consume",
      price: readPrice,
      readPrice,
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  throw finding;
}
