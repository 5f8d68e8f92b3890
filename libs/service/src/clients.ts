/** Clients of other services. Each call carries this service's token, which names the caller. */
import {
  startInternalClient,
  type InternalClient,
  type InternalClientOptions,
  type OwnSecrets,
  serviceCredentials,
} from "@kapi/http";
import type { MainContext } from "@kapi/runtime";

/** Options of {@link startServiceClient}. */
export interface ServiceClientOptions extends Omit<InternalClientOptions, "credentials"> {
  /** The service that is called. */
  readonly service: string;
}

/** Starts a client of another service; nothing connects before the first call. */
export function startServiceClient(
  { config, scope }: Pick<MainContext<OwnSecrets>, "config" | "scope">,
  { service, ...options }: ServiceClientOptions,
): Promise<InternalClient> {
  const credentials = serviceCredentials(config);
  return scope.start(`${service} client`, () => startInternalClient({ ...options, credentials }));
}
