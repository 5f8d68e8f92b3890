import { tooManyConcurrentRequests } from "@kapi/http";
import { OrganizationSlots } from "@kapi/kernel";

import { type CsvCell, csvLine } from "../domain/csv.ts";

/** Maximum number of concurrent exports of a process, and of one organization. */
const MAX_EXPORTS = 8;
const MAX_EXPORTS_PER_ORGANIZATION = 2;

const slots = new OrganizationSlots({ perOrganization: MAX_EXPORTS_PER_ORGANIZATION, total: MAX_EXPORTS });

/** A page of rows, each with its cells. */
export interface CsvPage {
  /** Number of rows on all pages; null: not counted. */
  readonly total: number | null;
  readonly rows: readonly (readonly CsvCell[])[];
}

/** A list as CSV, in chunks: first the column names, then one chunk for each page with rows. */
export interface CsvExport {
  /** Number of rows when the export began; null: not counted. */
  readonly total: number | null;
  readonly chunks: AsyncIterable<string>;
}

interface ExportOptions {
  readonly organizationId: string;
  readonly columnNames: readonly string[];
  readonly pages: AsyncGenerator<CsvPage>;
  /**
   * Gets the number of all rows if they are counted, before a row is sent. If it throws, the export
   * is rejected.
   */
  readonly check?: (total: number) => void;
}

/**
 * Exports pages as CSV. Only one page is in memory. The export counts as concurrent until all its
 * chunks are read, a page cannot be read, or the reader gives up.
 * @throws ApiError TOO_MANY_CONCURRENT_REQUESTS if the organization or the process has too many
 * exports
 */
export async function exportCsv({ organizationId, columnNames, pages, check }: ExportOptions): Promise<CsvExport> {
  const release = slots.take(organizationId);
  if (release === null) throw tooManyConcurrentRequests();
  try {
    const first = await pages.next();
    const total = first.done === true ? 0 : first.value.total;
    if (total !== null) check?.(total);
    return { total, chunks: releasing(lines(columnNames, first, pages), release) };
  } catch (error) {
    release();
    throw error;
  }
}

async function* lines(
  columnNames: readonly string[],
  first: IteratorResult<CsvPage>,
  pages: AsyncGenerator<CsvPage>,
): AsyncGenerator<string> {
  yield csvLine(columnNames);
  for (let page = first; page.done !== true; page = await pages.next()) {
    const text = page.value.rows.map(csvLine).join("");
    if (text !== "") yield text;
  }
}

/**
 * Calls `release` when the chunks end or are given up. A `finally` in the generator is not enough:
 * it does not run if the generator is given up before its first chunk.
 */
function releasing(chunks: AsyncGenerator<string>, release: () => void): AsyncIterableIterator<string> {
  const iterator: AsyncIterableIterator<string> = {
    [Symbol.asyncIterator]: () => iterator,
    next: async () => {
      try {
        const chunk = await chunks.next();
        if (chunk.done === true) release();
        return chunk;
      } catch (error) {
        release();
        throw error;
      }
    },
    return: () => {
      release();
      return chunks.return(undefined);
    },
  };
  return iterator;
}
