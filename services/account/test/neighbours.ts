import { createHttpServer, ApiError, startListening } from "@kapi/http";
import { createLogger, Health } from "@kapi/runtime";

/** Stand-ins for finance and metrics. The real ones are part of the end-to-end tests. */
export interface Neighbours {
  readonly financeUrl: string;
  readonly metricsUrl: string;
  /** `finance/<number>` and `metrics/<number>`, in order of deletion. */
  readonly deleted: string[];
  /** The services that reject deletions. */
  readonly unavailable: Set<"finance" | "metrics">;
  stop(): Promise<void>;
}

/**
 * Starts both stand-ins on free ports. They accept deletions unless they are in `unavailable`, and
 * have no sample of any account.
 */
export async function startNeighbours(): Promise<Neighbours> {
  const deleted: string[] = [];
  const unavailable = new Set<"finance" | "metrics">();
  const start = async (name: "finance" | "metrics"): Promise<{ url: string; stop: () => Promise<void> }> => {
    const logger = createLogger({ service: `${name}-stand-in`, level: "silent" });
    const app = createHttpServer({ logger, health: new Health() });
    app.delete<{ Params: { accountNumber: string } }>(
      "/internal/servers/:serverId/accounts/:accountNumber",
      (request, reply) => {
        if (unavailable.has(name)) throw new ApiError("DEPENDENCY_UNAVAILABLE");
        deleted.push(`${name}/${request.params.accountNumber}`);
        return reply.send({});
      },
    );
    app.post<{ Body: { accountNumbers: string[] } }>("/internal/samples/latest", (request, reply) =>
      reply.send({ samples: request.body.accountNumbers.map(() => null) }),
    );
    const started = await startListening(app, { host: "127.0.0.1", port: 0 });
    return { url: started.value.url, stop: () => started.stop() };
  };
  const [finance, metrics] = await Promise.all([start("finance"), start("metrics")]);
  return {
    financeUrl: finance.url,
    metricsUrl: metrics.url,
    deleted,
    unavailable,
    stop: async () => {
      await Promise.all([finance.stop(), metrics.stop()]);
    },
  };
}
