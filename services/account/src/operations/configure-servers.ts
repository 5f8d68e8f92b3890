import type { ConfigureServer, ServerRepository } from "../domain/ports.ts";

/**
 * Sends up to 100 changed configurations to their trading servers in parallel, and records the
 * sends. A failed send is reported to `onFailure`, and its configuration stays due. Returns the id
 * of the last server, to pass as `after` to the next call; null: no server is left after `after`.
 * So no server waits for servers with lower ids that cannot be reached.
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
