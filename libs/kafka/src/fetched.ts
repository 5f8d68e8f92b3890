import { deferred } from "@kapi/kernel";

import type { FetchedRecord } from "./message.ts";

/**
 * Number of records between the end of a fetch and the end of the log. Above this number, the next
 * fetch starts before the fetched records are handled.
 */
const FAR_FROM_END = 1_000n;

/** The part of a fetch response for one partition. */
export interface FetchedPartition {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedRecord[];
}

/**
 * The response of a fetch, or an empty list as soon as `over` aborts: the reader then does not wait
 * for a fetch that the broker still holds.
 */
export function unlessOver(
  coming: Promise<readonly FetchedPartition[]>,
  over: AbortSignal,
): Promise<readonly FetchedPartition[]> {
  const answer = deferred<readonly FetchedPartition[]>();
  const end = (): void => answer.resolve([]);
  over.addEventListener("abort", end, { once: true });
  void coming.then(answer.resolve, answer.reject).finally(() => over.removeEventListener("abort", end));
  return answer.promise;
}

/** The offset after the last record of a partition's response; null if there is no record. */
export function endOf({ partition, messages }: FetchedPartition): [partition: number, end: bigint | null] {
  const last = messages.at(-1);
  return [partition, last === undefined ? null : last.bigOffset + 1n];
}

/** Whether more than {@link FAR_FROM_END} records follow the fetched ones in the log. */
export function isFarFromEnd(fetched: FetchedPartition): boolean {
  const [, end] = endOf(fetched);
  return end !== null && BigInt(fetched.highWatermark) - end > FAR_FROM_END;
}
