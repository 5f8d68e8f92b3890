import type { PageQuery } from "@kapi/contracts";

import type { PageRange } from "../domain/history-ports.ts";

/**
 * The rows of a page. A page after the last one has no rows. The offset is limited, so that the
 * largest page number is accepted too.
 */
export function rangeOf({ page, limit }: PageQuery): PageRange {
  return { offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER), limit };
}
