import { TOPICS } from "@kapi/contracts";
import { endOffsets, type KafkaConnection, type Producer } from "@kapi/kafka";
import { assertDefined } from "@kapi/kernel";

import { DELETION_HEADERS, encodeSampleHeaders } from "@kapi/contracts/codec";
import type { CheckpointSink, DeletionSink, SampleSink } from "../../domain/ports.ts";

/** Writes samples to `metrics.samples`, on the partition number of their valuations. */
export function createSampleSink(kafka: KafkaConnection, producer: Producer): SampleSink {
  return {
    write: async (partition, key, range, frame) => {
      await producer.send(TOPICS.metricsSamples, { key, value: frame, headers: encodeSampleHeaders(range), partition });
    },
    endOf: async (partition) => {
      const ends = await endOffsets(kafka, TOPICS.metricsSamples);
      return assertDefined(ends.get(partition), `the end of partition ${partition} of the samples`);
    },
  };
}

/**
 * Writes deletions to `metrics.samples`, on the partition number of the account's valuations, after
 * all its samples so far.
 */
export function createDeletionSink(producer: Producer): DeletionSink {
  return {
    publish: async (key) => {
      const partition = producer.partitionOf(TOPICS.tradingValuations, key);
      const deletion = { key, value: "", headers: DELETION_HEADERS, partition };
      const { offset } = await producer.send(TOPICS.metricsSamples, deletion);
      return { partition, end: offset + 1n };
    },
  };
}

/**
 * Writes checkpoints, tombstones and markers to `metrics.latest`, on the partition number of the
 * samples that they are about.
 */
export function createCheckpointSink(producer: Producer): CheckpointSink {
  return {
    write: async (partition, key, value) => {
      await producer.send(TOPICS.metricsLatest, { key, value, partition });
    },
  };
}
