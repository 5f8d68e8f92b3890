/**
 * The hashes of a daily digest, computed from records as the API shows them
 * (`docs/guides/daily-digest.md`). You can copy this file: it needs nothing but Node.
 */
import { createHash } from "node:crypto";

/** The hashed fields of a transaction. */
const TRANSACTION =
  "id accountNumber sequence type amount currency balanceBefore balanceAfter description requestId commandId " +
  "orderId positionId dealId reversalOf createdBy recordedAt createdAt";
/** The hashed fields of a deal. */
const DEAL = "id orderId positionId symbol side kind volume price commission realizedPnl swap executedAt";
/** Fields that are hashed as text with two decimals. */
const MONEY = new Set([
  "amount",
  "balanceBefore",
  "balanceAfter",
  "closingBalance",
  "commission",
  "realizedPnl",
  "swap",
]);
/** Fields that are hashed as the shortest decimal text. */
const DECIMAL = new Set(["volume", "price"]);

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
/**
 * Writes a number without an exponent: 0.0000001, not 1e-7. A number has at most 17 significant
 * digits.
 */
const decimal = new Intl.NumberFormat("en-US", { useGrouping: false, maximumSignificantDigits: 17 });

/** JSON without white space, with names in order; amounts, volumes and prices are decimal text. */
function canonical(value: unknown, name = ""): string {
  if (MONEY.has(name)) return `"${Number(value).toFixed(2)}"`;
  if (DECIMAL.has(name)) return `"${decimal.format(`${Number(value)}`)}"`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member, key)}`).join(",")}}`;
}

/** The hash over the transactions or the deals of an account and a day, in any order. */
export function recordsHash(kind: "transactions" | "deals", records: readonly object[]): string {
  const fields = (kind === "deals" ? DEAL : TRANSACTION).split(" ");
  const pick = (record: object) => Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name)));
  return sha256(
    records
      .map((record) => `${sha256(canonical(pick(record)))}\n`)
      .toSorted()
      .join(""),
  );
}

/** The content of a digest, as the API shows it. */
export interface DigestContent {
  readonly accountNumber: string;
  readonly date: string;
  readonly currency: string;
  readonly closingBalance: number | string;
  readonly transactions: object;
  readonly deals: object;
}

/** The hash over all content of a digest. */
export function digestHash(serverId: string, digest: DigestContent): string {
  const { accountNumber, date, currency, closingBalance, transactions, deals } = digest;
  const content = { accountNumber, date, currency, closingBalance, transactions, deals };
  return sha256(canonical({ format: "kapi-digest/1", serverId, ...content }));
}
