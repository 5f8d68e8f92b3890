import type { PageQuery } from "@kapi/contracts";

import type { PageRange } from "../domain/history-ports.ts";

/** The range of a page. Beyond the last page it is empty, even for the largest page number. */
export function rangeOf({ page, limit }: PageQuery): PageRange {
  return { offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER), limit };
}
