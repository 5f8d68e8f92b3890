import type { PageQuery } from "@kapi/contracts";

import type { PageRange } from "../domain/history-ports.ts";

/**
 * The records of a page. Beyond the last one it is empty, also for the largest page number there
 * is.
 */
export function rangeOf({ page, limit }: PageQuery): PageRange {
  return { offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER), limit };
}
