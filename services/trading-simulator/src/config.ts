import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

import { SYMBOLS } from "./domain/symbols.ts";

/** Every setting of the trading simulator. */
export const ConfigSchema = z.object({
  /**
   * The address to listen on. On any address but a loopback address, the control API is served only
   * with CONTROL_TOKEN.
   */
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  /** Token that the account and finance services send. */
  TRADING_SERVER_TOKEN: configFields.internalToken,
  /**
   * Token of callers of the control API. Absent: the control API is served on a loopback address
   * only, without a token.
   */
  CONTROL_TOKEN: configFields.internalToken.optional(),
  /** Determines all seeded prices, and all choices of automatic trading. */
  MARKET_SEED: z.string().max(100, "must have at most 100 characters").default("kapi"),
  /** Milliseconds between ticks; 0: ticks only through the control API. */
  TICK_INTERVAL_MS: configFields.integer(0, 60_000).default(250),
  /** CSV file of recorded quotes of one symbol; the prices of other symbols stay seeded. */
  QUOTES_FILE: z.string().optional(),
  /** Symbol of QUOTES_FILE; by default the symbol with which the file name begins. */
  QUOTES_SYMBOL: z
    .string()
    .refine((symbol) => SYMBOLS.has(symbol), `must be one of ${[...SYMBOLS.keys()].join(", ")}`)
    .optional(),
  /**
   * Recorded seconds that are played per second. A tick plays at most 1,000 quotes; with `max` it
   * always plays 1,000.
   */
  QUOTES_SPEED: z
    .string()
    .transform((text) => (text === "max" ? Number.MAX_SAFE_INTEGER : Number(text)))
    .refine((speed) => speed >= 1, "must be a number from 1, or max")
    .default(1),
  /**
   * Milliseconds between two writes of the markets, and of the accounts whose stored states are
   * older than their newest rows in the journal. A restart reads the rows of the journal that are
   * newer than the stored states. After a crash, a market continues from its last write.
   */
  SNAPSHOT_INTERVAL_MS: configFields.integer(100, 600_000).default(5_000),
});
export type Config = z.output<typeof ConfigSchema>;
