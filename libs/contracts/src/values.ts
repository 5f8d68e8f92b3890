import { z } from "zod";

/** A UUID that a caller gives: any version, any letter case; kept in lower case. */
export const Guid = z.guid().toLowerCase();
/** An account number in a path (interface, "Conventions", 2). */
export const AccountNumber = z
  .string()
  .min(4)
  .max(32)
  .regex(/^[A-Za-z0-9_-]+$/);

/** Identifies an account: a trading server, and the number of the account on it. */
export interface AccountRef {
  readonly serverId: string;
  readonly accountNumber: string;
}
/** Header `Idempotency-Key` (interface, "Conventions", 4). */
export const IdempotencyKey = z.string({ error: "must be sent as a header" }).min(1).max(100);
/** Body field `requestId` (interface, "Conventions", 6). Correlation only. */
export const RequestId = z.string().min(1).max(100);

export const CURRENCIES = ["USD", "NGN"] as const;
export const Currency = z.enum(CURRENCIES);
export type Currency = z.infer<typeof Currency>;

/** The symbol of each currency (decisions, 4.10). */
export const CURRENCY_SYMBOLS: Readonly<Record<Currency, string>> = { USD: "$", NGN: "₦" };

/** Integer minor units of a currency with two decimals. */
export const Minor = z.int();

/** The years 1 to 9999, in UTC: ISO 8601 writes them with four digits, and databases store them. */
const STORABLE = /^(?!0000)\d{4}-/;

/** A time of a caller that only lacks its offset. */
const WITHOUT_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/;
const EXAMPLE_TIME = "2026-11-27T09:00:00Z";

/**
 * A time from a caller, with any offset, converted to UTC with milliseconds. `abort`: if a text is
 * not a date-time, a schema skips its checks across fields, such as whether `from` is before `to`.
 */
export const DateTime = z.iso
  .datetime({
    offset: true,
    abort: true,
    error: ({ input }) =>
      typeof input === "string" && WITHOUT_OFFSET.test(input)
        ? `must have an offset, such as ${EXAMPLE_TIME}`
        : `must be a date-time with an offset, such as ${EXAMPLE_TIME}`,
  })
  .transform((text) => new Date(text).toISOString())
  .refine((text) => STORABLE.test(text), { error: "must be within the years 1 to 9999, in UTC" });

const DIGITS = /^[0-9]{1,15}$/;

/** A whole number in a query string, where everything is text. */
export function queryInteger(minimum: number, maximum: number) {
  return z.string().regex(DIGITS, "must be a whole number").transform(Number).pipe(z.int().min(minimum).max(maximum));
}
