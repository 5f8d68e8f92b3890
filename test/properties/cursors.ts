/** Reads of lists by cursor, as a caller of the public interface makes them. */
import { type OutsideClient, repeated } from "../e2e/outside-client.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface CursorPage {
  readonly records: readonly Fields[];
  readonly pagination: {
    readonly page: number;
    readonly limit: number;
    readonly total: number;
    readonly nextCursor: string | null;
  };
}

/**
 * Returns the page of a list that `query` asks for. A request that is answered 500 with Retry-After
 * is repeated a few times. Throws if the final response is not 200.
 */
export async function pageOf(
  client: OutsideClient,
  path: string,
  field: string,
  query: Readonly<Record<string, string | number>>,
): Promise<CursorPage> {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) fields.set(name, String(value));
  const url = `${path}?${fields.toString()}`;
  const { status, body } = await repeated(() => client.call<Fields>("GET", url));
  if (status !== 200) throw new Error(`${url} answered ${status} ${JSON.stringify(body)}`);
  return { records: body[field] as Fields[], pagination: body["pagination"] as CursorPage["pagination"] };
}

/** Returns the pages from the first to the last, each by the cursor of the page before it. */
export async function* walk(
  client: OutsideClient,
  path: string,
  field: string,
  query: Readonly<Record<string, string | number>>,
): AsyncGenerator<CursorPage> {
  let page = await pageOf(client, path, field, query);
  for (;;) {
    yield page;
    const { nextCursor } = page.pagination;
    if (nextCursor === null) return;
    page = await pageOf(client, path, field, { ...query, cursor: nextCursor });
  }
}

/** Returns the records of a whole walk. */
export async function walked(
  client: OutsideClient,
  path: string,
  field: string,
  query: Readonly<Record<string, string | number>> = {},
): Promise<Fields[]> {
  const all: Fields[] = [];
  for await (const { records } of walk(client, path, field, { limit: 100, ...query })) all.push(...records);
  return all;
}
