import type { PublicApi } from "./public-api.ts";

const LIMIT = 100;

interface Page {
  readonly pagination: { readonly totalPages: number };
}

/** Every record of a list, newest first. `path` may end with filters. */
export async function* pagesOf<T>(api: PublicApi, path: string, field: string): AsyncGenerator<T> {
  const query = `${path}${path.includes("?") ? "&" : "?"}limit=${LIMIT}&page=`;
  for (let page = 1, last = 1; page <= last; page += 1) {
    const answer = await api.get<Page & Readonly<Record<string, readonly T[]>>>(query + page);
    yield* answer[field] ?? [];
    last = answer.pagination.totalPages;
  }
}
