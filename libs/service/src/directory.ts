/** The directory of keys, servers and prices, as a service follows it. */
import { startDirectory, type Directory } from "@kapi/admission";
import type { KafkaConnection } from "@kapi/kafka";
import type { MainContext } from "@kapi/runtime";

/**
 * Reads the directory to its end and follows it. If the reader makes no progress, the liveness
 * probe fails: revoked keys would stay valid in this process.
 * @throws if the topic cannot be read to its end in time.
 */
export async function startServiceDirectory(
  { scope, logger, health, fatal }: Pick<MainContext<unknown>, "scope" | "logger" | "health" | "fatal">,
  kafka: KafkaConnection,
): Promise<Directory> {
  const directory = await scope.start("directory", () => startDirectory({ kafka, logger, fatal }));
  health.liveness("directory", () => directory.check());
  return directory;
}
