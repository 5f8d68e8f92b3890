import { assert } from "@kapi/kernel";

/** Returns a reply that must be an array. */
export function arrayReply(reply: unknown): readonly unknown[] {
  assert(Array.isArray(reply), "the reply of a Redis function is not an array");
  return reply;
}

/** Returns a reply that must be a number, as integer or text. */
export function numberReply(reply: unknown): number {
  const value = Number(reply);
  assert(Number.isFinite(value) && reply !== null && reply !== "", "the reply of a Redis function is not a number");
  return value;
}

/** Returns a text reply; null for any other reply. */
export function textReply(reply: unknown): string | null {
  return typeof reply === "string" ? reply : null;
}
