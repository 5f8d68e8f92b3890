/** Codes of Node's errors when another machine, or the network, does not answer. */
const NETWORK_CODES: ReadonlySet<unknown> = new Set([
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
]);

/** Whether `error` says that a connection could not be made, or was lost. */
export function isNetworkError(error: unknown): boolean {
  return error instanceof Error && "code" in error && NETWORK_CODES.has(error.code);
}
