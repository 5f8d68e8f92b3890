/**
 * The hashes of daily digests, format `kapi-digest/1`. Amounts of money are decimal text in the
 * client; records with JSON numbers give the same hash.
 */
import { createHash } from "node:crypto";

import type { AccountDigest, Deal, Transaction } from "../generated/api.ts";

const TRANSACTION_FIELDS = [
  "id",
  "accountNumber",
  "sequence",
  "type",
  "amount",
  "currency",
  "balanceBefore",
  "balanceAfter",
  "description",
  "requestId",
  "commandId",
  "orderId",
  "positionId",
  "dealId",
  "reversalOf",
  "createdBy",
  "recordedAt",
  "createdAt",
] as const satisfies readonly (keyof Transaction)[];
const DEAL_FIELDS = [
  "id",
  "orderId",
  "positionId",
  "symbol",
  "side",
  "kind",
  "volume",
  "price",
  "commission",
  "realizedPnl",
  "swap",
  "executedAt",
] as const satisfies readonly (keyof Deal)[];

/** The hashed fields of a record. Fields that the API adds later are not hashed. */
export const HASHED_FIELDS: Readonly<Record<RecordKind, readonly string[]>> = {
  transactions: TRANSACTION_FIELDS,
  deals: DEAL_FIELDS,
};
/** Fields in which a number is hashed as text with two decimals. Text is hashed unchanged. */
const MONEY: ReadonlySet<string> = new Set([
  "amount",
  "balanceBefore",
  "balanceAfter",
  "commission",
  "realizedPnl",
  "swap",
  "closingBalance",
]);
/** Fields in which a number is hashed as the shortest decimal text. Text is hashed unchanged. */
const DECIMAL: ReadonlySet<string> = new Set(["volume", "price"]);
const FORMAT = "kapi-digest/1";
const CENT_DECIMALS = 2;
/** A number as JavaScript writes it with an exponent: sign, first digit, decimals, exponent. */
const EXPONENT_FORM = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/;

export type RecordKind = "transactions" | "deals";

/** The canonical JSON text of a value, which is the field `name` of a record or a digest. */
export function fieldText(name: string, value: unknown): string {
  if (typeof value === "number" && MONEY.has(name)) return JSON.stringify(value.toFixed(CENT_DECIMALS));
  if (typeof value === "number" && DECIMAL.has(name)) return JSON.stringify(numberText(value));
  return canonicalText(value);
}

/**
 * The hash over the transactions or the deals of an account and a day: 64 hex digits. The digest
 * has it as `transactions.hash` or `deals.hash`. The order of the records does not matter.
 */
export function recordsHash(kind: RecordKind, records: readonly (Transaction | Deal)[]): string {
  const names = HASHED_FIELDS[kind].toSorted();
  const hashes = records.map((record) => {
    const fields = record as unknown as Readonly<Record<string, unknown>>;
    const members = names.map((name) => `${JSON.stringify(name)}:${fieldText(name, fields[name] ?? null)}`);
    return sha256(`{${members.join(",")}}`);
  });
  return sha256(
    hashes
      .toSorted()
      .map((hash) => `${hash}\n`)
      .join(""),
  );
}

/** The fields of a digest that its hash covers. The hash also covers the server and the format. */
export type DigestContent = Pick<
  AccountDigest,
  "accountNumber" | "date" | "currency" | "closingBalance" | "transactions" | "deals"
>;

/** The hash over the content of a digest: 64 hex digits. The digest has it as `hash`. */
export function digestHash(serverId: string, digest: DigestContent): string {
  const { accountNumber, date, currency, closingBalance, transactions, deals } = digest;
  const content = { accountNumber, date, currency, closingBalance, transactions, deals };
  return sha256(canonicalText({ format: FORMAT, serverId, ...content }));
}

function canonicalText(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value ?? null);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${fieldText(name, (value as Record<string, unknown>)[name])}`);
  return `{${members.join(",")}}`;
}

/** The shortest decimal text that is the same number, without exponent: `0.0000001`. */
function numberText(value: number): string {
  const shortest = String(value);
  const [, sign, first, decimals = "", power] = EXPONENT_FORM.exec(shortest) ?? [];
  if (sign === undefined || first === undefined) return shortest;
  const exponent = Number(power);
  const digits = first + decimals;
  if (exponent < 0) return `${sign}0.${digits.padStart(digits.length - exponent - 1, "0")}`;
  return sign + digits.padEnd(exponent + 1, "0");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
