import type { ConfigureServer, ServerRepository } from "../domain/ports.ts";

/**
 * Sends up to 100 changed configurations to their trading servers in parallel, and records the
 * sends. A failed send is reported to `onFailure`, and its configuration stays due.
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
