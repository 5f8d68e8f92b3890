import { arrayReply, numberReply, textReply } from "@kapi/redis";

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

/** Parses a wallet from its fields, in the order of `WALLET_FIELDS` in `kapi.lua`. */
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
