import {
  LocalError,
  pauseProcess,
  type ServerContext,
  signalProcess,
  startKafkaContainer,
  startKafkaProcess,
} from "@kapi/servers";

/** Longest wait until a paused Kafka stands still. */
const PAUSE_TIMEOUT_MS = 20_000;

/** A Kafka of one test file's own, which it may hold still. */
export interface TestKafka {
  readonly brokers: string;
  /**
   * Stops it where it is (SIGSTOP): connections stay, and once this returns nothing is answered.
   */
  pause(): Promise<void>;
  /** Lets it go on. */
  resume(): void;
}

/**
 * Starts a Kafka process with these broker settings beside those of every local Kafka; where this
 * machine cannot have one, a container, which cannot be paused.
 */
export async function startTestKafka(
  context: ServerContext,
  settings: Readonly<Record<string, string>>,
): Promise<{ value: TestKafka; stop(): Promise<void> }> {
  try {
    const server = await startKafkaProcess(context, settings);
    const pause = (): Promise<void> => pauseProcess(server.id, PAUSE_TIMEOUT_MS);
    const resume = (): void => void signalProcess(server.id, "SIGCONT");
    const stop = (): Promise<void> => {
      resume();
      return server.stop();
    };
    return { value: { brokers: server.address, pause, resume }, stop };
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    const server = await startKafkaContainer(context, settings);
    const impossible = (): never => {
      throw new LocalError("A test that pauses Kafka needs it as a process: Java 17 and Maven.");
    };
    const value = { brokers: server.address, pause: impossible, resume: impossible };
    return { value, stop: () => server.stop() };
  }
}
