import { type OutsideClient, repeated } from "../e2e/outside-client.ts";

export interface Pagination {
  readonly page: number;
  readonly limit: number;
  readonly total: number;
  readonly totalPages: number;
}

/**
 * Returns one page of a list of a server or an account. `path` is below the client's server, and
 * may have a query. A request that is answered 500 with Retry-After is repeated. Throws if the
 * final response is not 200.
 */
export async function onePage(
  client: OutsideClient,
  path: string,
  field: string,
  { page, limit }: { readonly page: number; readonly limit: number },
): Promise<{ records: unknown[]; pagination: Pagination }> {
  const mark = path.includes("?") ? "&" : "?";
  const { status, body } = await repeated(() =>
    client.call<{ pagination: Pagination; [field: string]: unknown }>(
      "GET",
      client.server(`${path}${mark}page=${page}&limit=${limit}`),
    ),
  );
  if (status !== 200) throw new Error(`${path} answered ${status} ${JSON.stringify(body)}`);
  return { records: body[field] as unknown[], pagination: body.pagination };
}

/** Returns the records of all pages in order, up to the first empty page. */
export async function everyPage<T>(client: OutsideClient, path: string, field: string, limit: number): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; ; page += 1) {
    const { records } = await onePage(client, path, field, { page, limit });
    if (records.length === 0) return all;
    all.push(...(records as T[]));
  }
}
