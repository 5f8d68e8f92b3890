import type { Admitted } from "@kapi/admission";
import type { KeyEntry } from "@kapi/contracts";
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
    address: call.address,
    chargeId: call.chargeId,
    mode: "consume",
    price: readPrice,
    readPrice,
  });
  call.admitted = admitted;
  return admitted;
}

/** Keys whose last read was refused: what they ask for is looked for only once they may have it. */
const refusedKeys = new WeakSet<KeyEntry>();

/**
 * Charges the read price while `read` is already looking, and gives what it found. For reads that cost about as little as the charge
 * itself: a caller who is refused (401, 429, 402) has one of them done in vain, and from then on none until a request of the key is
 * accepted again.
 */
export async function chargeBeside<T>(needs: ChargeNeeds, call: Call, read: () => Promise<T>): Promise<T> {
  if (refusedKeys.has(call.key)) {
    await chargeRead(needs, call);
    refusedKeys.delete(call.key);
    return read();
  }
  const found = read();
  // What is refused is told first; whether something would have been found is then nobody's business.
  found.catch(() => undefined);
  try {
    await chargeRead(needs, call);
  } catch (error) {
    refusedKeys.add(call.key);
    throw error;
  }
  return found;
}

/**
 * Charges the read price, and only then throws `finding`: 429 and 402 come before what is wrong with the request, and 400,
 * 404 and 409 cost the read price (decisions, 1.1 and 7.1).
 */
export async function refuse(needs: ChargeNeeds, call: Call, finding: ApiError): Promise<never> {
  await chargeRead(needs, call);
  throw finding;
}
