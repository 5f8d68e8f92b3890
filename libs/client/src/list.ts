/** Largest page that the API serves. */
const RECORDS_PER_PAGE = 100;

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Number of records that match at this moment; for webhook deliveries, at most 10,000. */
  readonly total: number;
  /** The position after this page; null at the end. */
  readonly nextCursor: string | null;
}

/** Which page of a list to read. Without `cursor`, the first page. */
export interface PageOptions {
  /** `nextCursor` of an earlier page of the same list with the same filters. */
  readonly cursor?: string | undefined;
  /** Maximum number of records, 1 to 100. Default 100. */
  readonly limit?: number | undefined;
}

/**
 * A list of records, newest first. Only digests are in the order of account numbers. `for await`
 * reads page after page by cursor. A record that matches the filters during the whole read arrives
 * exactly once. Records that are added meanwhile may be missing.
 */
export class List<T> implements AsyncIterable<T> {
  readonly #readPage: (options: PageOptions) => Promise<Page<T>>;

  constructor(readPage: (options: PageOptions) => Promise<Page<T>>) {
    this.#readPage = readPage;
  }

  /** Reads one page. */
  page(options: PageOptions = {}): Promise<Page<T>> {
    return this.#readPage({ ...options, limit: options.limit ?? RECORDS_PER_PAGE });
  }

  /** Reads the first record, or null if the list is empty. */
  async first(): Promise<T | null> {
    return (await this.page({ limit: 1 })).items[0] ?? null;
  }

  /**
   * Reads all records into memory. @throws RangeError if the list has more than `maxRecords`.
   */
  async toArray({ maxRecords = 10_000 }: { readonly maxRecords?: number } = {}): Promise<T[]> {
    const records: T[] = [];
    for await (const record of this) {
      if (records.length === maxRecords) throw new RangeError(`the list has more than ${maxRecords} records`);
      records.push(record);
    }
    return records;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.page(cursor === null ? {} : { cursor });
      yield* page.items;
      cursor = page.nextCursor;
    } while (cursor !== null);
  }
}
