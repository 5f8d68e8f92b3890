import { type CommandEvent, isFinal, TOPICS } from "@kapi/contracts";
import { createKafka, endOffsets, startLogReader } from "@kapi/kafka";
import type { Stack } from "@kapi/local";
import { createLogger } from "@kapi/runtime";

/** The callers that wait for the final events of commands. */
export class FinalCommands {
  readonly #waiting = new Map<string, () => void>();
  /** Commands whose final event was read before anybody waited. */
  readonly #early = new Set<string>();

  /** Records that the final event of the command was read. */
  ended(commandId: string): void {
    const resolve = this.#waiting.get(commandId);
    if (resolve === undefined) this.#early.add(commandId);
    else resolve();
    this.#waiting.delete(commandId);
  }

  /** Resolves when the command is final. Call once per command. */
  wait(commandId: string): Promise<void> {
    if (this.#early.delete(commandId)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(commandId, resolve));
  }
}

/** Reads the final events of commands from Kafka, from now on. The returned `finals` gets them. */
export async function readFinals(stack: Stack): Promise<{ finals: FinalCommands; stop: () => Promise<void> }> {
  const finals = new FinalCommands();
  const logger = createLogger({ service: "bench", level: "error" });
  const brokers = stack.servers.kafkaBrokers.split(",");
  const kafka = createKafka({ brokers, clientId: "bench", topicPrefix: stack.topicPrefix, logger });
  const reader = await startLogReader(kafka, {
    topic: TOPICS.commandEvents,
    from: await endOffsets(kafka, TOPICS.commandEvents),
    logger,
    fatal: (error) => {
      throw error;
    },
    onBatch: (_partition, messages) => {
      for (const message of messages) {
        const event = JSON.parse(message.value.toString("utf8")) as CommandEvent;
        if (isFinal(event.status)) finals.ended(event.commandId);
      }
    },
  });
  return { finals, stop: reader.stop };
}
