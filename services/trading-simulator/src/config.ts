import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

import { SYMBOLS } from "./domain/symbols.ts";

/** What the service reads from its environment. */
export const Config = z.object({
  /**
   * The control API needs no token on a loopback address; on another one it needs CONTROL_TOKEN to
   * be there at all.
   */
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  /** What callers of the contract prove themselves with. */
  TRADING_SERVER_TOKEN: configFields.internalToken,
  /** What callers of the control API must show, if set. */
  CONTROL_TOKEN: configFields.internalToken.optional(),
  /** Fixes every seeded price and every choice of accounts that trade by themselves. */
  MARKET_SEED: z.string().min(1).max(100).default("kapi"),
  /**
   * Milliseconds from one tick of the market to the next; 0: only when the control API asks for
   * one.
   */
  TICK_INTERVAL_MS: configFields.integer(0, 60_000).default(250),
  /** A CSV of recorded quotes that one symbol plays; the others stay seeded. */
  QUOTES_FILE: z.string().min(1).optional(),
  /** Its symbol; by default the one that the file is named after. */
  QUOTES_SYMBOL: z
    .string()
    .refine((symbol) => SYMBOLS.has(symbol), `must be one of ${[...SYMBOLS.keys()].join(", ")}`)
    .optional(),
  /** Seconds of the recording for each second; `max` plays as many quotes as a tick takes. */
  QUOTES_SPEED: z
    .string()
    .transform((text) => (text === "max" ? Number.MAX_SAFE_INTEGER : Number(text)))
    .refine((speed) => speed >= 1, "must be a number from 1, or max")
    .default(1),
  /**
   * How often states that the journal is ahead of are stored; what a restart has to read is at most
   * this old.
   */
  SNAPSHOT_INTERVAL_MS: configFields.integer(100, 600_000).default(5_000),
});
export type Config = z.output<typeof Config>;
