import { LocalError } from "./local-error.ts";
import { testcontainers } from "./machine/container-runtime.ts";
import type { RunningServer, ServerContext, ServerKind } from "./server.ts";
import { answersWithin } from "./ways.ts";

/**
 * Maximum time to pull an image and to start the container. Limits the wait for a registry that
 * does not answer.
 */
const START_TIMEOUT_MS = 150_000;
const ANSWER_DEADLINE_MS = 60_000;
const STOP_DEADLINE_S = 10;

/**
 * The image and the settings of one server. Unless the run is ephemeral, `dataFolder` is a volume
 * that outlives the container.
 */
interface ContainerPlan {
  readonly image: string;
  /** Port in the container. */
  readonly port: number;
  /** Fixed port on this machine, for a server whose settings contain the port. */
  readonly hostPort?: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  /** The server's data folder in the container. */
  readonly dataFolder: string;
  /** The address in the format of the server's environment variable. */
  address(host: string, port: number): string;
}

/** Starts a container and records its id. Throws if the image or the server is not available. */
export async function startContainer(
  kind: ServerKind,
  context: ServerContext,
  plan: ContainerPlan,
): Promise<RunningServer> {
  const { GenericContainer, Wait } = await testcontainers();
  const port = plan.hostPort === undefined ? plan.port : { container: plan.port, host: plan.hostPort };
  let builder = new GenericContainer(plan.image)
    .withExposedPorts(port)
    .withEnvironment({ ...plan.environment })
    .withWaitStrategy(Wait.forListeningPorts())
    .withStartupTimeout(ANSWER_DEADLINE_MS);
  if (plan.command !== undefined) builder = builder.withCommand([...plan.command]);
  if (!context.ephemeral) {
    const source = `kapi-${context.secrets.installation}-${kind.name}`;
    builder = builder.withBindMounts([{ source, target: plan.dataFolder, mode: "rw" }]);
  }
  const starting = builder.start();
  const container = await within(START_TIMEOUT_MS, plan.image, starting).catch((error: unknown) => {
    // Nothing else would stop a container that starts later.
    void starting.then((late) => late.stop({ remove: true, removeVolumes: context.ephemeral })).catch(() => undefined);
    throw error;
  });
  const entry = { kind: "container", name: kind.name, id: container.getId() } as const;
  context.record.add(entry);
  const address = plan.address(container.getHost(), container.getMappedPort(plan.port));
  const stop = async (): Promise<void> => {
    await container.stop({ timeout: STOP_DEADLINE_S * 1000, remove: true, removeVolumes: context.ephemeral });
    context.record.remove(entry);
  };
  if (!(await answersWithin(kind, address, ANSWER_DEADLINE_MS))) {
    await stop();
    throw new LocalError(`${kind.title} in a container of ${plan.image} does not answer`);
  }
  return { name: kind.name, way: "container", address, stop };
}

async function within<T>(timeoutMs: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new LocalError(`${what} did not start within ${timeoutMs / 1000} s`);
    timer = setTimeout(() => reject(error), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
