import type { Issue, Server, UpdateServerConfigurationBody } from "@kapi/contracts";
import type { Caller } from "@kapi/http";
import { faultPoint } from "@kapi/runtime";

import type { ServerConfiguration } from "../domain/account.ts";
import type { ConfigureServer, ServerRepository } from "../domain/ports.ts";
import { toServer } from "./render.ts";

/** The change conflicts with the server's configuration. */
export class InvalidConfigurationError extends Error {
  override readonly name = "InvalidConfigurationError";
  readonly issues: readonly Issue[];

  constructor(issue: Issue) {
    super(issue.message);
    this.issues = [issue];
  }
}

/**
 * Changes a server's configuration and sends it to the trading server (decisions, 4.10). Null if
 * the server does not exist or is removed. Rejects with {@link InvalidConfigurationError} for an
 * invalid change. Rejects as `configure` does if the send fails. After a failed send the change
 * stays stored, and the service sends it again until a send succeeds; a repeated request sends it
 * too.
 */
export async function updateServerConfiguration(
  serverRepository: ServerRepository,
  configure: ConfigureServer,
  serverId: string,
  body: UpdateServerConfigurationBody,
  by: Caller | null,
): Promise<Server | null> {
  const changed = await serverRepository.reconfigure(serverId, (now) => reconfigured(now, body), by);
  if (changed === null) return null;
  faultPoint("account.configuration-written");
  await serverRepository.sendConfiguration(serverId, configure);
  return toServer(changed);
}

/**
 * The configuration after `body`. Omitted fields are unchanged. If `body` gives no default
 * leverage, but the current default is not among the supported leverages any more, the default
 * becomes null (decisions, 4.10). Throws {@link InvalidConfigurationError} if `body` gives a
 * default that is not among the supported leverages.
 */
export function reconfigured(
  now: ServerConfiguration,
  body: UpdateServerConfigurationBody,
): Pick<ServerConfiguration, "currency" | "supportedLeverage" | "defaultLeverage"> {
  const supportedLeverage = (body.supportedLeverage ?? now.supportedLeverage).toSorted((a, b) => a - b);
  const given = body.defaultLeverage;
  if (given !== undefined && given !== null && !supportedLeverage.includes(given)) {
    throw new InvalidConfigurationError({
      path: ["defaultLeverage"],
      code: "custom",
      message: "must be one of the supported leverages",
    });
  }
  const wanted = given === undefined ? now.defaultLeverage : given;
  const defaultLeverage = wanted !== null && supportedLeverage.includes(wanted) ? wanted : null;
  return { currency: body.currency ?? now.currency, supportedLeverage, defaultLeverage };
}
