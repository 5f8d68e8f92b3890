import { assertDefined } from "@kapi/kernel";

/** Currencies of prices and accounts. */
export type CurrencyCode = "USD" | "JPY" | "CHF" | "CAD" | "NGN";

/**
 * The fixed terms of a symbol, the same on every server. Prices are in `quoteCurrency` for one unit
 * of the base currency.
 */
export interface SymbolSpec {
  readonly name: string;
  readonly description: string;
  readonly quoteCurrency: CurrencyCode;
  /** Units of the base currency per lot. */
  readonly contractSize: number;
  /** Decimals of prices; one point is 10^-digits. */
  readonly digits: number;
  /** Ask - bid of the seeded market, in points. */
  readonly spreadPoints: number;
  /** Mean price of the seeded market. */
  readonly basePrice: number;
  /** Standard deviation of a step of the seeded market, as a fraction of the price. */
  readonly stepDeviation: number;
  /** Swap per night of a long position, in points; a cost is negative. */
  readonly swapLongPoints: number;
  /** Swap per night of a short position, in points. */
  readonly swapShortPoints: number;
  /** Cost of each execution, in USD per lot. */
  readonly commissionPerLotUsd: number;
  /** Maximum leverage, also for an account with a higher leverage. */
  readonly maxLeverage: number;
}

/** Volumes are counted in hundredths of a lot. */
export const VOLUME_UNITS_PER_LOT = 100;
/** Volume limits of an order, in hundredths of a lot. */
export const MIN_VOLUME = 1;
export const MAX_VOLUME = 100 * VOLUME_UNITS_PER_LOT;

type Row = readonly [
  name: string,
  description: string,
  quoteCurrency: CurrencyCode,
  contractSize: number,
  digits: number,
  spreadPoints: number,
  basePrice: number,
  stepDeviation: number,
  swapLongPoints: number,
  swapShortPoints: number,
  commissionPerLotUsd: number,
  maxLeverage: number,
];

const ROWS: readonly Row[] = [
  ["EURUSD", "Euro against US dollar", "USD", 100_000, 5, 8, 1.1, 2e-5, -6.5, 2.1, 3, 10_000],
  ["GBPUSD", "Pound against US dollar", "USD", 100_000, 5, 10, 1.27, 2.4e-5, -4.2, -1.1, 3, 10_000],
  ["AUDUSD", "Australian dollar against US dollar", "USD", 100_000, 5, 9, 0.66, 2.6e-5, -3.4, -0.8, 3, 10_000],
  ["USDJPY", "US dollar against yen", "JPY", 100_000, 3, 9, 150, 2.2e-5, 11.2, -19.5, 3, 10_000],
  ["USDCHF", "US dollar against Swiss franc", "CHF", 100_000, 5, 10, 0.89, 2e-5, 5.1, -9.6, 3, 10_000],
  ["USDCAD", "US dollar against Canadian dollar", "CAD", 100_000, 5, 11, 1.36, 1.8e-5, 1.2, -4.4, 3, 10_000],
  ["XAUUSD", "Gold, ounce", "USD", 100, 2, 25, 2350, 3.5e-5, -38, 19, 5, 500],
  ["BTCUSD", "Bitcoin", "USD", 1, 2, 2_000, 65_000, 9e-5, -1_800, -600, 8, 20],
  ["NAS100", "Nasdaq 100 index", "USD", 10, 1, 15, 18_500, 4e-5, -42, 12, 2, 200],
  ["USDNGN", "US dollar against naira", "NGN", 100_000, 2, 300, 1_550, 3e-5, -60, -60, 3, 50],
];

/** All symbols by name. */
export const SYMBOLS: ReadonlyMap<string, SymbolSpec> = new Map(
  ROWS.map((row) => [
    row[0],
    {
      name: row[0],
      description: row[1],
      quoteCurrency: row[2],
      contractSize: row[3],
      digits: row[4],
      spreadPoints: row[5],
      basePrice: row[6],
      stepDeviation: row[7],
      swapLongPoints: row[8],
      swapShortPoints: row[9],
      commissionPerLotUsd: row[10],
      maxLeverage: row[11],
    },
  ]),
);

/** Symbol whose price is the value of one US dollar in the currency. */
export const CONVERSION_SYMBOLS: Readonly<Record<Exclude<CurrencyCode, "USD">, string>> = {
  JPY: "USDJPY",
  CHF: "USDCHF",
  CAD: "USDCAD",
  NGN: "USDNGN",
};

/** Returns the terms of a symbol, which must exist. */
export function symbolSpec(name: string): SymbolSpec {
  return assertDefined(SYMBOLS.get(name), `symbol ${name}`);
}

/** Rounds a price to the decimals of its symbol. */
export function roundPrice(spec: SymbolSpec, price: number): number {
  return Number(price.toFixed(spec.digits));
}

/** Lots in hundredths; null: not a multiple of 0.01. */
export function volumeFromLots(lots: number): number | null {
  const units = Math.round(lots * VOLUME_UNITS_PER_LOT);
  return Math.abs(lots * VOLUME_UNITS_PER_LOT - units) < 1e-6 ? units : null;
}

/** Lots of a volume in hundredths of a lot; the inverse of {@link volumeFromLots}. */
export function lotsFromVolume(volume: number): number {
  return volume / VOLUME_UNITS_PER_LOT;
}
