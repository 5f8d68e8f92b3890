import type { ConfigureServer, ServerRegister } from "../domain/ports.ts";

/**
 * Tells every trading server whose configuration changed, and notes it. One that is unreachable is
 * reported to `onFailure` and stays due, and does not keep the others waiting.
 */
export async function configureServers(
  register: ServerRegister,
  configure: ConfigureServer,
  onFailure: (serverId: string, error: unknown) => void,
): Promise<void> {
  const due = await register.unconfigured();
  await Promise.all(
    due.map(async (serverId) => {
      try {
        await register.tell(serverId, configure);
      } catch (error) {
        onFailure(serverId, error);
      }
    }),
  );
}
