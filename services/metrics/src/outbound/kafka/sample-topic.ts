import { SAMPLE_HEADERS, TOPICS } from "@kapi/contracts";
import { endOffsets, type KafkaConnection, type Producer } from "@kapi/kafka";
import { assertDefined } from "@kapi/kernel";

import { spanToWire } from "../../domain/judge.ts";
import type { CheckpointSink, DeletionSink, SampleSink } from "../../domain/ports.ts";

/** Samples as records of `metrics.samples`, on the partition number of their valuations. */
export function createSampleSink(kafka: KafkaConnection, producer: Producer): SampleSink {
  return {
    write: async (partition, key, span, frame) => {
      await producer.send(TOPICS.metricsSamples, { key, value: frame, headers: spanToWire(span), partition });
    },
    endOf: async (partition) => {
      const ends = await endOffsets(kafka, TOPICS.metricsSamples);
      return assertDefined(ends.get(partition), `the end of partition ${partition} of the samples`);
    },
  };
}

/** Deletions as records of `metrics.samples`, on the partition of the account's valuations, behind all its samples so far. */
export function createDeletionSink(producer: Producer): DeletionSink {
  return {
    tell: async (key) => {
      const partition = producer.partitionOf(TOPICS.tradingValuations, key);
      const headers = { [SAMPLE_HEADERS.deleted]: "1" };
      const { offset } = await producer.send(TOPICS.metricsSamples, { key, value: "", headers, partition });
      return { partition, end: offset + 1n };
    },
  };
}

/** Checkpoints as records of `metrics.latest`, on the partition number of what they speak of. */
export function createCheckpointSink(producer: Producer): CheckpointSink {
  return {
    write: async (partition, key, value) => {
      await producer.send(TOPICS.metricsLatest, { key, value, partition });
    },
  };
}
