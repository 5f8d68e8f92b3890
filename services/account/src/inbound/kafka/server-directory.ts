/**
 * Follows the servers of organization.directory: each entry is saved, and the trading server told
 * of its configuration. What fails (database or trading server away) is tried again every second;
 * entries wait in memory, newest per server.
 */
import type { DirectoryEntry, ServerEntry } from "@kapi/contracts";
import { repeat } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { ConfigureServer, ServerRegister } from "../../domain/ports.ts";
import { configureServers } from "../../operations/configure-servers.ts";

const RETRY_INTERVAL_MS = 1_000;

export interface ServerDirectoryOptions {
  readonly servers: () => Iterable<ServerEntry>;
  readonly onChange: (listener: (entry: DirectoryEntry) => void) => () => void;
  readonly register: ServerRegister;
  readonly configure: ConfigureServer;
  readonly logger: Logger;
}

/** Starts following; resolves once the servers known at the start are saved. */
export async function followServers(options: ServerDirectoryOptions): Promise<Started<void>> {
  const { register, logger } = options;
  const waiting = new Map<string, ServerEntry>();
  let wake = (): void => undefined;
  const unsubscribe = options.onChange((entry) => {
    if (entry.kind !== "server") return;
    waiting.set(entry.serverId, entry);
    wake();
  });
  for (const entry of options.servers()) await register.save(entry);

  const onFailure = (serverId: string, error: unknown): void => {
    logger.warn({ serverId, err: error }, "the trading server was not told of its configuration; it will be");
  };
  const round = async (): Promise<void> => {
    for (const entry of waiting.values()) {
      await register.save(entry);
      if (waiting.get(entry.serverId) === entry) waiting.delete(entry.serverId);
    }
    await configureServers(register, options.configure, onFailure);
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
