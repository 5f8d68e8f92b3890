import { assert, type Deferred, deferred } from "@kapi/kernel";
import type { Tag } from "./redis/index.ts";

/** What {@link together} needs. */
export interface TogetherOptions<Request, Answer> {
  /** Carries out requests of one shard in one call of Redis: one answer per request, in their order. */
  readonly call: (shard: Tag, requests: readonly Request[]) => Promise<readonly Answer[]>;
  /** How much a request is; in claims, at least 1. */
  readonly sizeOf: (request: Request) => number;
  /** What the requests of one call are together, at most, so that none holds Redis for long; a larger one has a call of its own. */
  readonly maxSize: number;
}

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly answer: Deferred<Answer>;
}

/**
 * Returns a function that carries out one request, and puts those of one turn of the event loop that are of one shard into one call: what
 * they share (is the shard ready, the wallet) is read and written once for all. Of each shard by itself, for another's node may be away; the
 * calls of all shards go out in one turn, so that they share a write, which a batcher for each shard would not give. Nothing waits for a call under
 * way. A call that fails rejects its requests.
 */
export function together<Request, Answer>(
  options: TogetherOptions<Request, Answer>,
): (shard: Tag, request: Request) => Promise<Answer> {
  let waiting = new Map<Tag, Waiting<Request, Answer>[]>();

  const call = async (shard: Tag, batch: readonly Waiting<Request, Answer>[]): Promise<void> => {
    try {
      const answers = await options.call(
        shard,
        batch.map(({ request }) => request),
      );
      assert(answers.length === batch.length, "a call answers each of its requests");
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

/** In their order, each as large as it may be. */
function batchesOf<Request, Answer>(
  members: readonly Waiting<Request, Answer>[],
  { sizeOf, maxSize }: TogetherOptions<Request, Answer>,
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
