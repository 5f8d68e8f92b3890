import { type CallOptions, DependencyError, type InternalClient } from "@kapi/http";

const OK = 200;
const NOT_FOUND = 404;

/**
 * The exact body of an owner's answer, or null where it answers 404. Every other status is a DependencyError: what the
 * gateway asks for was checked before.
 */
export async function bytesOf(
  client: InternalClient,
  path: string,
  options: CallOptions & { readonly method?: "GET" | "POST" | "DELETE"; readonly body?: unknown } = {},
): Promise<Buffer | null> {
  const { method = "GET", body: asked, ...callOptions } = options;
  const { status, body } = await client.request(method, path, asked, callOptions);
  if (status === OK) return body;
  if (status === NOT_FOUND) return null;
  throw unexpected(path, status);
}

/** The same, from an owner that has no 404 for it. */
export async function foundBytesOf(client: InternalClient, path: string): Promise<Buffer> {
  const body = await bytesOf(client, path);
  if (body === null) throw unexpected(path, NOT_FOUND);
  return body;
}

/** A path with what of the query is there. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return `${path}?${parameters.toString()}`;
}

/** The path of an account at every owner. */
export function accountPath(serverId: string, accountNumber: string): string {
  return `/internal/servers/${serverId}/accounts/${accountNumber}`;
}

/** An answer that no owner should give. */
export function unexpected(path: string, status: number): DependencyError {
  return new DependencyError(`${path} was answered with ${status}`, { status });
}
