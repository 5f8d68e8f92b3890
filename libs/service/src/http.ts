/** The HTTP port of a service: health probes, metrics and the routes of the service. */
import type { InternalOwner } from "@kapi/contracts";
import {
  admitCallers,
  type CallerSecrets,
  createHttpServer,
  type FastifyInstance,
  type HttpServerOptions,
  startListening,
} from "@kapi/http";
import type { MainContext } from "@kapi/runtime";

/** Where a service listens. */
export interface ListenSettings {
  readonly HTTP_HOST: string;
  readonly HTTP_PORT: number;
}

/** Options of {@link startHttp} and {@link startInternalHttp}. */
export interface ServiceHttpOptions extends Omit<HttpServerOptions, "logger" | "health"> {
  /** Adds routes before the port is open. Absent: health probes and metrics only. */
  readonly register?: (app: FastifyInstance) => void;
}

/** The open HTTP port of a service. */
export interface ServiceHttp {
  readonly app: FastifyInstance;
  readonly url: string;
}

/**
 * Opens the HTTP port with the routes that `register` adds.
 * @throws an Error with the system's error as its cause if the address cannot be used.
 */
export async function startHttp(
  { config, scope, logger, health }: Pick<MainContext<ListenSettings>, "config" | "scope" | "logger" | "health">,
  { register, ...options }: ServiceHttpOptions,
): Promise<ServiceHttp> {
  const app = createHttpServer({ ...options, logger, health });
  register?.(app);
  const { url } = await scope.start("http", () =>
    startListening(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }),
  );
  logger.info({ url }, "listening");
  return { app, url };
}

/**
 * Opens the HTTP port of a service with internal routes. Each internal route is open to the callers
 * that INTERNAL_CALLS names for it.
 */
export function startInternalHttp(
  context: Pick<MainContext<ListenSettings & CallerSecrets>, "config" | "scope" | "logger" | "health">,
  owner: InternalOwner,
  { register, ...options }: ServiceHttpOptions,
): Promise<ServiceHttp> {
  return startHttp(context, {
    ...options,
    register: (app) => {
      admitCallers(app, owner, context.config);
      register?.(app);
    },
  });
}
