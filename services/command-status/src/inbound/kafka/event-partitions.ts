import { TOPICS } from "@kapi/contracts";
import { type KafkaConnection, partitionCounts, partitionOfKey } from "@kapi/kafka";

/** Which partitions of `command.events` this process reads; none before the first join. */
export class EventPartitions {
  readonly #count: number;
  #own: ReadonlySet<number> = new Set();

  private constructor(count: number) {
    this.#count = count;
  }

  /** Asks how many partitions there are. Where some are added later, a message may wait for an event that another process reads. */
  static async create(kafka: KafkaConnection): Promise<EventPartitions> {
    const counts = await partitionCounts(kafka);
    return new EventPartitions(counts.get(kafka.topicName(TOPICS.commandEvents)) ?? 1);
  }

  assigned(partitions: readonly number[]): void {
    this.#own = new Set(partitions);
  }

  /** Whether the command's events come to this process. */
  has(commandId: string): boolean {
    return this.#own.has(partitionOfKey(commandId, this.#count));
  }
}
