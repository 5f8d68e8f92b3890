import { z } from "zod";

/** The classes that determine the price of a request (decisions, 7.1). */
export const PRICE_CLASSES = ["read", "mutation", "create", "bulkItem", "export", "liveConnection"] as const;
export type PriceClass = (typeof PRICE_CLASSES)[number];

const Credits = z.int().min(0).max(1_000_000);

/** Credits per class. The operator can change them. */
export const Prices = z.object({
  read: Credits,
  mutation: Credits,
  create: Credits,
  bulkItem: Credits,
  export: Credits,
  liveConnection: Credits,
});
export type Prices = z.infer<typeof Prices>;

/** The default prices, in credits (decisions, 7.1). */
export const DEFAULT_PRICES: Prices = Object.freeze({
  read: 1,
  mutation: 5,
  create: 10,
  bulkItem: 10,
  export: 20,
  liveConnection: 1,
});
