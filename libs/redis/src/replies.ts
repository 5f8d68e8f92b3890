import { assert } from "@kapi/kernel";

/** An organization's wallet as Redis keeps it; amounts in credits, times in ms since 1970. */
export interface WalletState {
  readonly id: string;
  readonly organizationId: string;
  readonly available: number;
  readonly reserved: number;
  readonly consumed: number;
  readonly purchased: number;
  readonly lowBalanceThreshold: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Asserts that a reply is an array: replies of our own functions are ours to trust, and to notice when they are not. */
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

/** A wallet from its fields in the library's order. */
export function walletReply(organizationId: string, reply: unknown): WalletState {
  const [id, available, reserved, consumed, purchased, threshold, created, updated] = arrayReply(reply);
  return {
    id: textReply(id) ?? "",
    organizationId,
    available: numberReply(available),
    reserved: numberReply(reserved),
    consumed: numberReply(consumed),
    purchased: numberReply(purchased),
    lowBalanceThreshold: numberReply(threshold),
    createdAtMs: numberReply(created),
    updatedAtMs: numberReply(updated),
  };
}
