import type { ConfigureServer, ServerRepository } from "../domain/ports.ts";

/**
 * Sends up to 100 changed configurations to their trading servers in parallel, and records the
 * sends. A failed send is reported to `onFailure`, and its configuration stays due. Returns the
 * highest id of these servers; null if no configuration is due after the id `after`. The next call
 * gets the returned id as `after`, so that servers that cannot be reached do not delay others.
 */
export async function configureServers(
  serverRepository: ServerRepository,
  configure: ConfigureServer,
  onFailure: (serverId: string, error: unknown) => void,
  after: string | null,
): Promise<string | null> {
  const due = await serverRepository.unconfigured(after);
  await Promise.all(
    due.map(async (serverId) => {
      try {
        await serverRepository.sendConfiguration(serverId, configure);
      } catch (error) {
        onFailure(serverId, error);
      }
    }),
  );
  return due.at(-1) ?? null;
}
