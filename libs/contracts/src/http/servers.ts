import { z } from "zod";

import { Currency } from "../values.ts";

export const Leverage = z.int().min(1).max(10_000);
export const ServerStatus = z.enum(["active", "disabled"]);
export const ServerEnvironment = z.enum(["demo", "real"]);

/** Configuration of a trading server (interface, "Server configuration"). */
export const Server = z.object({
  serverId: z.guid(),
  serverName: z.string(),
  companyName: z.string(),
  currency: Currency,
  currencySymbol: z.string(),
  environment: ServerEnvironment,
  supportedLeverage: z.array(Leverage).min(1).max(100),
  defaultLeverage: Leverage.nullable(),
  status: ServerStatus,
});
export type Server = z.infer<typeof Server>;

const distinct = (values: readonly number[]): boolean => new Set(values).size === values.length;

/** Body of updateServerConfiguration (decisions, 4.10); missing fields are unchanged. */
export const UpdateServerConfigurationBody = z
  .object({
    supportedLeverage: z
      .array(Leverage)
      .min(1)
      .max(100)
      .refine(distinct, { error: "must not repeat a value" })
      .optional(),
    defaultLeverage: Leverage.nullable().optional(),
    currency: Currency.optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    path: ["supportedLeverage"],
    error: "at least one of supportedLeverage, defaultLeverage and currency must be given",
  });
export type UpdateServerConfigurationBody = z.infer<typeof UpdateServerConfigurationBody>;

/** Answer of getServerConfiguration and updateServerConfiguration. */
export const ServerAnswer = z.object({ server: Server });
