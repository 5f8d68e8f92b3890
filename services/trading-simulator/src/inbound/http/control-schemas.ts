/** Bodies of the control API. Volumes in lots, prices in the symbol's quote currency. */
import { ORDER_TYPES, SIDES } from "@kapi/contracts";
import { REJECTION_CODES } from "@kapi/trading-server";
import { z } from "zod";

import { FAULT_KINDS, FAULT_OPERATIONS, type FaultOperation } from "../../domain/faults.ts";
import { SYMBOLS, volumeFromLots } from "../../domain/symbols.ts";

const MAX_DELAY_MS = 600_000;
const MAX_TICKS = 10_000;

/**
 * Operations whose requests have no account number. The text is the error for a fault that has an
 * account number: such a fault would never match.
 */
const WITHOUT_ACCOUNT: Partial<Record<FaultOperation, string>> = {
  settle: "a settle request has no account number: give the `reference`, which is the command id",
  configure: "a configure request has no account number: leave it out",
  quotes: "a quotes request has no account number: leave it out",
};

/** The name of a symbol, in upper or lower case. */
export const SymbolName = z
  .string()
  .toUpperCase()
  .refine((name) => SYMBOLS.has(name), { error: "there is no such symbol" });
const Price = z.number().positive().max(1e9);
const Stop = Price.nullable();

/** A volume in lots. Parsing converts it to hundredths of a lot. */
const Volume = z
  .number()
  .positive()
  .max(100)
  .transform((lots, context) => {
    const volume = volumeFromLots(lots);
    if (volume !== null && volume > 0) return volume;
    context.addIssue({ code: "custom", message: "must be a multiple of 0.01 lots" });
    return z.NEVER;
  });

/** Whether the market of a symbol is open. */
export const SymbolMarketBody = z.object({ open: z.boolean() });

export const PlaceOrderBody = z.object({
  symbol: SymbolName,
  side: z.enum(SIDES),
  orderType: z.enum(ORDER_TYPES).default("market"),
  volume: Volume,
  price: Price.nullable().default(null),
  stopLoss: Stop.default(null),
  takeProfit: Stop.default(null),
});
export const ModifyOrderBody = z.object({
  price: Price.optional(),
  stopLoss: Stop.optional(),
  takeProfit: Stop.optional(),
});
export const ModifyPositionBody = z.object({ stopLoss: Stop.optional(), takeProfit: Stop.optional() });
export const ClosePositionBody = z.object({ volume: Volume.nullable().default(null) }).default({ volume: null });
export const LoginBody = z.object({ password: z.string().min(1).max(128) });

export const AutoTraderBody = z.object({
  enabled: z.boolean(),
  symbols: z.array(SymbolName).min(1).max(SYMBOLS.size).default(["EURUSD", "GBPUSD", "XAUUSD"]),
  // In hundredths of a lot: zod does not parse a default.
  volume: Volume.default(10),
  maxPositions: z.int().min(1).max(50).default(5),
  everyTicks: z.int().min(1).max(100_000).default(20),
});

export const SetPriceBody = z.object({ bid: Price, ask: Price.optional(), hold: z.boolean().default(false) });
/**
 * Either `points` or `percent`, signed. With both, `points` is used. Without `hold` a held price
 * stays held.
 */
export const MovePriceBody = z.union([
  z.object({ points: z.number(), hold: z.boolean().optional() }),
  z.object({ percent: z.number().gt(-100).max(1_000), hold: z.boolean().optional() }),
]);
export const MarketBody = z.object({ paused: z.boolean() });
export const TicksBody = z.object({ count: z.int().min(1).max(MAX_TICKS).default(1) }).default({ count: 1 });

export const FaultBody = z
  .object({
    kind: z.enum(FAULT_KINDS),
    reference: z.string().nullable().default(null),
    accountNumber: z.string().nullable().default(null),
    operation: z.enum(FAULT_OPERATIONS).nullable().default(null),
    count: z.int().min(1).max(1_000_000).nullable().default(1),
    delayMs: z.int().min(0).max(MAX_DELAY_MS).default(1_000),
    code: z.enum(REJECTION_CODES).default("INVALID_CHANGE"),
    disconnect: z.boolean().default(false),
  })
  .superRefine(({ operation, accountNumber }, context) => {
    const message = accountNumber === null || operation === null ? undefined : WITHOUT_ACCOUNT[operation];
    if (message !== undefined) context.addIssue({ code: "custom", path: ["accountNumber"], message });
  });
