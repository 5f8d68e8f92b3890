import type { Issue, Server, UpdateServerConfigurationBody } from "@kapi/contracts";
import type { Caller } from "@kapi/http";
import { faultPoint } from "@kapi/runtime";

import type { ServerConfiguration } from "../domain/account.ts";
import type { ConfigureServer, ServerRegister } from "../domain/ports.ts";
import { toServer } from "./render.ts";

/** The change makes no sense with what the server has. */
export class ConfigurationRefused extends Error {
  override readonly name = "ConfigurationRefused";
  readonly issues: readonly Issue[];

  constructor(issue: Issue) {
    super(issue.message);
    this.issues = [issue];
  }
}

/**
 * Changes a server's configuration and tells its trading server (decisions, 4.10). Null where there
 * is no such server. Rejects with {@link ConfigurationRefused}, and as `configure` does: the change
 * is kept then, and a repeat of the request tells it, as this service does by itself until it
 * succeeds.
 */
export async function updateServerConfiguration(
  register: ServerRegister,
  configure: ConfigureServer,
  serverId: string,
  body: UpdateServerConfigurationBody,
  by: Caller | null,
): Promise<Server | null> {
  const changed = await register.reconfigure(serverId, (now) => reconfigured(now, body), by);
  if (changed === null) return null;
  faultPoint("account.configuration-written");
  await register.tell(serverId, configure);
  return toServer(changed);
}

/** What is not given stays; a default that the new list drops is null (decisions, 4.10). */
export function reconfigured(
  now: ServerConfiguration,
  body: UpdateServerConfigurationBody,
): Pick<ServerConfiguration, "currency" | "supportedLeverage" | "defaultLeverage"> {
  const supportedLeverage = (body.supportedLeverage ?? now.supportedLeverage).toSorted((a, b) => a - b);
  const given = body.defaultLeverage;
  if (given !== undefined && given !== null && !supportedLeverage.includes(given)) {
    throw new ConfigurationRefused({
      path: ["defaultLeverage"],
      code: "custom",
      message: "must be one of the supported leverages",
    });
  }
  const wanted = given === undefined ? now.defaultLeverage : given;
  const defaultLeverage = wanted !== null && supportedLeverage.includes(wanted) ? wanted : null;
  return { currency: body.currency ?? now.currency, supportedLeverage, defaultLeverage };
}
