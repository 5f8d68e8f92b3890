/**
 * The hashes of a daily digest (decisions, 21.2), format `kapi-digest/1`. The client has code
 * of its own for them, because it imports no other package of kapi.
 */
import { createHash } from "node:crypto";

import { type Deal, DIGEST_FORMAT, type DigestContent, type Transaction } from "@kapi/contracts";
import { canonicalJson } from "@kapi/kernel";

const CENT_DECIMALS = 2;
/** A number as JavaScript writes it with an exponent: sign, digits, decimals, exponent. */
const EXPONENT_FORM = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/;

/**
 * The canonical text of a transaction of the API. The fields of the format never change: a field
 * that the API gets later is not hashed.
 */
export function transactionText(transaction: Transaction): string {
  return canonicalJson({
    id: transaction.id,
    accountNumber: transaction.accountNumber,
    sequence: transaction.sequence,
    type: transaction.type,
    amount: moneyText(transaction.amount),
    currency: transaction.currency,
    balanceBefore: moneyText(transaction.balanceBefore),
    balanceAfter: moneyText(transaction.balanceAfter),
    description: transaction.description,
    requestId: transaction.requestId,
    commandId: transaction.commandId,
    orderId: transaction.orderId,
    positionId: transaction.positionId,
    dealId: transaction.dealId,
    reversalOf: transaction.reversalOf,
    createdBy: transaction.createdBy,
    recordedAt: transaction.recordedAt,
    createdAt: transaction.createdAt,
  });
}

/** The canonical text of a deal of the API; see {@link transactionText}. */
export function dealText(deal: Deal): string {
  return canonicalJson({
    id: deal.id,
    orderId: deal.orderId,
    positionId: deal.positionId,
    symbol: deal.symbol,
    side: deal.side,
    kind: deal.kind,
    volume: numberText(deal.volume),
    price: numberText(deal.price),
    commission: moneyText(deal.commission),
    realizedPnl: moneyText(deal.realizedPnl),
    swap: moneyText(deal.swap),
    executedAt: deal.executedAt,
  });
}

/** The hash over the records of a day, in any order: the hash of their sorted hashes. */
export class RecordHashes {
  readonly #hashes: string[] = [];

  /** Adds the canonical text of a record. */
  add(text: string): void {
    this.#hashes.push(sha256(text));
  }

  get count(): number {
    return this.#hashes.length;
  }

  /** 64 hex digits. */
  digest(): string {
    return sha256(
      this.#hashes
        .toSorted()
        .map((hash) => `${hash}\n`)
        .join(""),
    );
  }
}

/** The hash over the records of a day that has no records. */
export const NO_RECORDS_HASH: string = new RecordHashes().digest();

/** The hash of a digest: one value to compare for all of its content. */
export function digestHash(serverId: string, date: string, content: DigestContent): string {
  const { accountNumber, currency, closingBalance, transactions, deals } = content;
  const text = canonicalJson({
    format: DIGEST_FORMAT,
    serverId,
    accountNumber,
    date,
    currency,
    closingBalance: moneyText(closingBalance),
    transactions: { count: transactions.count, amount: moneyText(transactions.amount), hash: transactions.hash },
    deals: {
      count: deals.count,
      commission: moneyText(deals.commission),
      realizedPnl: moneyText(deals.realizedPnl),
      swap: moneyText(deals.swap),
      hash: deals.hash,
    },
  });
  return sha256(text);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** An amount of the API with two decimals, such as `-12.50`. */
function moneyText(amount: number): string {
  return amount.toFixed(CENT_DECIMALS);
}

/** The shortest decimal text that is the same number, without exponent: `0.0000001`. */
export function numberText(value: number): string {
  const shortest = String(value);
  const [, sign, first, decimals = "", power] = EXPONENT_FORM.exec(shortest) ?? [];
  if (sign === undefined || first === undefined) return shortest;
  const exponent = Number(power);
  const digits = first + decimals;
  if (exponent < 0) return `${sign}0.${digits.padStart(digits.length - exponent - 1, "0")}`;
  return sign + digits.padEnd(exponent + 1, "0");
}
