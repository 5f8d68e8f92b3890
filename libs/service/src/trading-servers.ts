/** The client of all trading servers, as account and finance use it. */
import type { Directory } from "@kapi/admission";
import type { Keyring } from "@kapi/kernel";
import type { MainContext } from "@kapi/runtime";
import { createAddresses, startTradingServerClient, type TradingServerClient } from "@kapi/trading-server";

/** Settings of a service that calls trading servers. */
export interface TradingServerSettings {
  /** Keys that decrypt the tokens of trading servers. The organization service encrypts tokens. */
  readonly TRADING_SERVER_SEALING_KEYS: Keyring;
  /** Token for trading servers that were registered without their own token. */
  readonly TRADING_SERVER_TOKEN?: string | undefined;
  /** "true" allows http to trading servers. */
  readonly TRADING_SERVER_ALLOW_INSECURE: "true" | "false";
  /** Certificate authorities in addition to the authorities that Node trusts, in PEM. */
  readonly TRADING_SERVER_TLS_CA?: string | undefined;
  /** Deadline of one call, in milliseconds. */
  readonly TRADING_SERVER_TIMEOUT_MS: number;
}

/** Starts the client; it finds the address of a server in the directory at each call. */
export function startTradingServers(
  { config, scope }: Pick<MainContext<TradingServerSettings>, "config" | "scope">,
  directory: Directory,
): Promise<TradingServerClient> {
  return scope.start("trading-server client", () =>
    startTradingServerClient({
      addressOf: createAddresses({
        server: (serverId) => directory.server(serverId),
        keys: config.TRADING_SERVER_SEALING_KEYS,
        sharedToken: config.TRADING_SERVER_TOKEN,
        allowInsecure: config.TRADING_SERVER_ALLOW_INSECURE === "true",
      }),
      organizationOf: (serverId) => directory.server(serverId)?.organizationId,
      ca: config.TRADING_SERVER_TLS_CA,
      timeoutMs: config.TRADING_SERVER_TIMEOUT_MS,
    }),
  );
}
