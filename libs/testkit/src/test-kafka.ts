import {
  LocalError,
  pauseProcess,
  type ServerContext,
  signalProcess,
  startKafkaContainer,
  startKafkaProcess,
} from "@kapi/servers";

/** Maximum wait until Kafka is paused. */
const PAUSE_TIMEOUT_MS = 20_000;

/** A Kafka of one test file, which the test may pause. */
export interface TestKafka {
  readonly brokers: string;
  /**
   * Pauses Kafka (SIGSTOP): connections stay open. After `pause` resolves, no request is answered.
   */
  pause(): Promise<void>;
  /** Resumes a paused Kafka (SIGCONT). */
  resume(): void;
}

/**
 * Starts a Kafka process with these broker settings, in addition to the settings of every local
 * Kafka. If this machine cannot run the process, starts a container, which cannot be paused.
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
      throw new LocalError("A test that pauses Kafka needs Kafka as a process: install Java 17 and Maven.");
    };
    const value = { brokers: server.address, pause: impossible, resume: impossible };
    return { value, stop: () => server.stop() };
  }
}
