/**
 * Positions of records that stay ordered when a topic is recreated. The acceptance rule compares
 * offsets, and the offsets of a recreated topic restart at 0. So all code behind the Kafka adapters
 * uses positions: the generation of the topic, then the offset. In generation 0 a position equals
 * the offset.
 */
import { assert } from "@kapi/kernel";

/** Above the offsets of any partition: 55 years at 10,000 records a second. */
const OFFSETS_PER_GENERATION = 2 ** 44;
/** Positions are safe integers up to this generation. */
const MAX_GENERATION = 2 ** 9 - 1;

/** The position of offset 0 of a topic of this generation. */
export function firstPosition(generation: number): number {
  assert(generation >= 0 && generation <= MAX_GENERATION, `a generation of a topic, not ${generation}`);
  return generation * OFFSETS_PER_GENERATION;
}

/** Where the topics of the live stream begin, as positions. */
export interface TopicPositions {
  readonly valuations: number;
  readonly samples: number;
  readonly latest: number;
}

/** Offsets by partition as positions, in a topic that begins at `first`. */
export function positionsOf(offsets: ReadonlyMap<number, bigint>, first: number): Map<number, bigint> {
  return new Map(Array.from(offsets, ([partition, offset]) => [partition, offset + BigInt(first)]));
}
