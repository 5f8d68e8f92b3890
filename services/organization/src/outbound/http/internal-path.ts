import { DependencyError } from "@kapi/http";

/** A path with what of the query is there. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return `${path}?${parameters.toString()}`;
}

/** An answer that no owner should give. */
export function unexpected(path: string, status: number): DependencyError {
  return new DependencyError(`${path} was answered with ${status}`, { status });
}
