import { assert, type Deferred, deferred } from "@kapi/kernel";
import type { Shard } from "./redis/index.ts";

/** How requests of one kind are sent to Redis, and how many of them share a call. */
interface BatchOptions<Request, Answer> {
  /**
   * Executes requests of one shard in one call of Redis; returns one answer per request, in order.
   */
  readonly call: (shard: Shard, requests: readonly Request[]) => Promise<readonly Answer[]>;
  /** Size of a request, in records, at least 1. */
  readonly sizeOf: (request: Request) => number;
  /**
   * Maximum sum of sizes in one batch, so that no call blocks Redis for long. A larger request gets
   * a batch of its own.
   */
  readonly maxSize: number;
}

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly answer: Deferred<Answer>;
}

/**
 * Returns a function that executes one request. Requests of one shard in one turn of the event loop
 * share calls of up to `maxSize`; a call reads and writes shared keys (shard state, wallet) once.
 * Each shard has its own calls, because another shard's node may be down. The calls of all shards
 * are sent in one turn, so that they share a network write. No batch waits for an earlier call. A
 * failed call rejects the requests of its batch.
 */
export function batchByShard<Request, Answer>(
  options: BatchOptions<Request, Answer>,
): (shard: Shard, request: Request) => Promise<Answer> {
  let waiting = new Map<Shard, Waiting<Request, Answer>[]>();

  const call = async (shard: Shard, batch: readonly Waiting<Request, Answer>[]): Promise<void> => {
    try {
      const answers = await options.call(
        shard,
        batch.map(({ request }) => request),
      );
      assert(answers.length === batch.length, "a call did not return one answer per request");
      for (const [index, { answer }] of batch.entries()) answer.resolve(answers[index] as Answer);
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      for (const { answer } of batch) answer.reject(reason);
    }
  };
  const callAll = (): void => {
    const turn = waiting;
    waiting = new Map();
    for (const [shard, members] of turn) for (const batch of batchesOf(members, options)) void call(shard, batch);
  };
  return (shard, request) => {
    if (waiting.size === 0) setImmediate(callAll);
    const answer = deferred<Answer>();
    const members = waiting.get(shard);
    if (members === undefined) waiting.set(shard, [{ request, answer }]);
    else members.push({ request, answer });
    return answer.promise;
  };
}

/** Divides requests into batches, in order. Each batch is as large as `maxSize` allows. */
function batchesOf<Request, Answer>(
  members: readonly Waiting<Request, Answer>[],
  { sizeOf, maxSize }: BatchOptions<Request, Answer>,
): Waiting<Request, Answer>[][] {
  const batches: Waiting<Request, Answer>[][] = [];
  let room = 0;
  for (const member of members) {
    const size = sizeOf(member.request);
    if (size > room) {
      batches.push([]);
      room = maxSize;
    }
    batches.at(-1)?.push(member);
    room -= size;
  }
  return batches;
}
