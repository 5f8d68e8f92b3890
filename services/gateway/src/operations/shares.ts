import type { Readable } from "node:stream";

import { tooManyConcurrentRequests } from "@kapi/http";
import type { OrganizationSlots } from "@kapi/kernel";

/**
 * Takes a slot of the organization's share. Returns the function that gives it back.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS (429, not billed) where the share is taken
 * (decisions, 1.7).
 */
export function takeSlot(slots: OrganizationSlots, organizationId: string): () => void {
  const release = slots.take(organizationId);
  if (release === null) throw tooManyConcurrentRequests();
  return release;
}

/** Gives the slot back when `read` has failed, or when the answer that it gave is over. */
export async function untilRead<Body extends Buffer | Readable>(
  release: () => void,
  read: () => Promise<Body>,
): Promise<Body> {
  try {
    const body = await read();
    if (body instanceof Uint8Array) release();
    else body.once("close", release);
    return body;
  } catch (error) {
    release();
    throw error;
  }
}
