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
