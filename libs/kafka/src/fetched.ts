import { deferred } from "@kapi/kernel";

import type { FetchedRecord } from "./message.ts";

/**
 * With more records of a partition than this still to come, the next fetch does not wait until the
 * last one was handled.
 */
const FAR_FROM_END = 1_000n;

/** What a fetch brings of one partition. */
export interface FetchedPartition {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedRecord[];
}

/**
 * What a fetch brings, or nothing once the reading is `over`: what the broker still holds then is
 * not waited for.
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

/** The offset behind the last record of a partition's answer; null where there is none. */
export function endOf({ partition, messages }: FetchedPartition): [partition: number, end: bigint | null] {
  const last = messages.at(-1);
  return [partition, last === undefined ? null : last.bigOffset + 1n];
}

/** Whether many records of the partition are still to come. */
export function isFarFromEnd(fetched: FetchedPartition): boolean {
  const [, end] = endOf(fetched);
  return end !== null && BigInt(fetched.highWatermark) - end > FAR_FROM_END;
}
