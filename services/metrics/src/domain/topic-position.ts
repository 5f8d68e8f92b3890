/**
 * Positions of records that stay ordered when a topic is recreated. The acceptance rule compares
 * offsets, and the offsets of a recreated topic restart at 0. So all code behind the Kafka adapters
 * uses positions, also where a name says `offset`, `from` or `to`. Only the `end` for which
 * `SampleProgress` waits is an offset of Kafka. A position is the generation of the topic times
 * 2^44, plus the offset. In generation 0 a position equals the offset.
 */
import { OFFSETS_PER_GENERATION } from "@kapi/contracts";
import { assert } from "@kapi/kernel";

/** Up to this generation, positions are safe integers. */
const MAX_GENERATION = 2 ** 9 - 1;

/** Returns the position of offset 0 in a topic of this generation. */
export function firstPosition(generation: number): number {
  assert(
    generation >= 0 && generation <= MAX_GENERATION,
    `a generation is from 0 to ${MAX_GENERATION}, not ${generation}`,
  );
  return generation * OFFSETS_PER_GENERATION;
}

/** The position of offset 0 of each topic of the live stream. */
export interface TopicPositions {
  readonly valuations: number;
  readonly samples: number;
  readonly latest: number;
}

/** The offset in Kafka of a position. */
export function offsetOf(position: bigint): bigint {
  return position % BigInt(OFFSETS_PER_GENERATION);
}

/**
 * Converts offsets by partition to positions. `first` is the position of offset 0; `-first`
 * converts positions to offsets.
 */
export function positionsOf(offsets: ReadonlyMap<number, bigint>, first: number): Map<number, bigint> {
  return new Map(Array.from(offsets, ([partition, offset]) => [partition, offset + BigInt(first)]));
}
