import type { Readable } from "node:stream";

import { tooManyConcurrentRequests } from "@kapi/http";
import type { OrganizationSlots } from "@kapi/kernel";

/**
 * Takes a slot of the organization's share. Returns the function that releases it.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS (429, not billed) if no slot is free (decisions,
 * 1.7).
 */
export function takeSlot(slots: OrganizationSlots, organizationId: string): () => void {
  const release = slots.take(organizationId);
  if (release === null) throw tooManyConcurrentRequests();
  return release;
}

/**
 * Calls `release` when `read` fails or returns a Buffer, or when the stream that it returned
 * closes.
 */
export async function holdUntilRead<Body extends Buffer | Readable>(
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
