import { assert } from "@kapi/kernel";

/**
 * Asserts that a reply is an array: replies of our own functions are ours to trust, and to notice
 * when they are not.
 */
export function arrayReply(reply: unknown): readonly unknown[] {
  assert(Array.isArray(reply), "the function library answers with an array");
  return reply;
}

/** A number that came as integer or as text. */
export function numberReply(reply: unknown): number {
  const value = Number(reply);
  assert(Number.isFinite(value) && reply !== null && reply !== "", "the function library answers with a number");
  return value;
}

/** Text, or null where Redis had nothing. */
export function textReply(reply: unknown): string | null {
  return typeof reply === "string" ? reply : null;
}
