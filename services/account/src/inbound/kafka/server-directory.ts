/**
 * Follows the servers of organization.directory: saves each entry and sends the configuration to
 * the trading server. A failed send is retried after a second. Only the newest entry of a server
 * waits in memory.
 */
import type { DirectoryEntry, ServerEntry } from "@kapi/contracts";
import { repeat } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { ConfigureServer, ServerRepository } from "../../domain/ports.ts";
import { configureServers } from "../../operations/configure-servers.ts";

const RETRY_INTERVAL_MS = 1_000;

interface ServerDirectoryOptions {
  readonly servers: () => Iterable<ServerEntry>;
  readonly onChange: (listener: (entry: DirectoryEntry) => void) => () => void;
  readonly serverRepository: ServerRepository;
  readonly configure: ConfigureServer;
  readonly logger: Logger;
}

/**
 * Starts to save the servers of the directory. Resolves after the servers that the directory has at
 * the call are saved. `stop` waits for the running round.
 */
export async function startServerFollower(options: ServerDirectoryOptions): Promise<Started<void>> {
  const { serverRepository, logger } = options;
  const waiting = new Map<string, ServerEntry>();
  let wake = (): void => undefined;
  const unsubscribe = options.onChange((entry) => {
    if (entry.kind !== "server") return;
    waiting.set(entry.serverId, entry);
    wake();
  });
  for (const entry of options.servers()) await serverRepository.save(entry);

  const onFailure = (serverId: string, error: unknown): void => {
    logger.warn(
      { serverId, err: error },
      "the configuration was not sent to the trading server; it will be sent again",
    );
  };
  /** The next round continues after this server; null: it begins with the first server. */
  let lastServerId: string | null = null;
  const round = async (): Promise<boolean> => {
    for (const entry of waiting.values()) {
      await serverRepository.save(entry);
      if (waiting.get(entry.serverId) === entry) waiting.delete(entry.serverId);
    }
    lastServerId = await configureServers(serverRepository, options.configure, onFailure, lastServerId);
    return lastServerId !== null;
  };
  const pauses = { pauseMs: RETRY_INTERVAL_MS, backOff: { firstMs: RETRY_INTERVAL_MS } };
  const saving = repeat({ name: "servers of the directory", round, ...pauses, logger });
  wake = saving.value.wake;
  return {
    value: undefined,
    stop: () => {
      unsubscribe();
      return saving.stop();
    },
  };
}
