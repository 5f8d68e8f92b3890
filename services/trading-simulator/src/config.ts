import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

import { SYMBOLS } from "./domain/symbols.ts";

export const ConfigSchema = z.object({
  /**
   * The control API needs no token on a loopback address. On any other address it exists only with
   * CONTROL_TOKEN.
   */
  HTTP_HOST: configFields.httpHost,
  HTTP_PORT: configFields.httpPort,
  ...connectionFields.kafka,
  ...connectionFields.postgres,
  POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
  /** Token of callers of the contract. */
  TRADING_SERVER_TOKEN: configFields.internalToken,
  /** Token of callers of the control API, if set. */
  CONTROL_TOKEN: configFields.internalToken.optional(),
  /** Determines all seeded prices and choices of automatic trading. */
  MARKET_SEED: z.string().min(1).max(100).default("kapi"),
  /** Milliseconds between ticks; 0: ticks only through the control API. */
  TICK_INTERVAL_MS: configFields.integer(0, 60_000).default(250),
  /** CSV of recorded quotes for one symbol; the others stay seeded. */
  QUOTES_FILE: z.string().min(1).optional(),
  /** Symbol of the file; by default from its name. */
  QUOTES_SYMBOL: z
    .string()
    .refine((symbol) => SYMBOLS.has(symbol), `must be one of ${[...SYMBOLS.keys()].join(", ")}`)
    .optional(),
  /** Recorded seconds per second; `max`: as many quotes as fit into a tick. */
  QUOTES_SPEED: z
    .string()
    .transform((text) => (text === "max" ? Number.MAX_SAFE_INTEGER : Number(text)))
    .refine((speed) => speed >= 1, "must be a number from 1, or max")
    .default(1),
  /** How often accounts behind the journal are stored: bounds what a restart reads. */
  SNAPSHOT_INTERVAL_MS: configFields.integer(100, 600_000).default(5_000),
});
export type Config = z.output<typeof ConfigSchema>;
