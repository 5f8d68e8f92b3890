import type { ConfigureServer, ServerRepository } from "../domain/ports.ts";

/**
 * Sends every changed configuration to its trading server and records it. An unreachable server is
 * reported to `onFailure`, stays due, and does not delay other servers.
 */
export async function configureServers(
  serverRepository: ServerRepository,
  configure: ConfigureServer,
  onFailure: (serverId: string, error: unknown) => void,
): Promise<void> {
  const due = await serverRepository.unconfigured();
  await Promise.all(
    due.map(async (serverId) => {
      try {
        await serverRepository.sendConfiguration(serverId, configure);
      } catch (error) {
        onFailure(serverId, error);
      }
    }),
  );
}
