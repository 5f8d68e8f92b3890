import type { ServerConfiguration } from "../domain/account.ts";
import type { ServerRegister } from "../domain/ports.ts";

/** Tells a trading server how one of its servers is configured. */
export type ConfigureServer = (configuration: ServerConfiguration) => Promise<void>;

/**
 * Tells every trading server whose configuration changed, and notes it. One that is unreachable is reported to
 * `onFailure` and stays due, and does not keep the others waiting.
 */
export async function configureServers(
  register: ServerRegister,
  configure: ConfigureServer,
  onFailure: (serverId: string, error: unknown) => void,
): Promise<void> {
  const due = await register.unconfigured();
  await Promise.all(
    due.map(async ({ configuration, configurationVersion }) => {
      try {
        await configure(configuration);
        await register.configured(configuration.serverId, configurationVersion);
      } catch (error) {
        onFailure(configuration.serverId, error);
      }
    }),
  );
}
