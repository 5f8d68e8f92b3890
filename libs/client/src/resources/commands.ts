import { StillRunning } from "../commands/errors.ts";
import { QueuedCommand, type WaitOptions } from "../commands/queued-command.ts";
import type { CommandOperation, ResultOf } from "../commands/results.ts";
import { delay } from "../delay.ts";
import type { Command, CommandEnvelope } from "../generated/api.ts";
import { pathOf, type Query, type RequestOptions, type Transport } from "../http/transport.ts";
import type { List } from "../list.ts";
import { listOf } from "./pages.ts";

const DEFAULT_WAIT_MS = 60_000;
/** The API holds one request for at most this long, in seconds. */
const MAX_WAIT_PER_CALL_S = 30;
/** Time for the answer after the wait, in milliseconds. */
const ANSWER_TIME_MS = 10_000;
/** Shortest time between the starts of two requests for the same command, in milliseconds. */
const SHORTEST_POLL_MS = 250;
/** Maximum number of commands that `waitAll` waits for at the same time. */
const WAITS_AT_ONCE = 8;

/** Options of every call that queues a command. */
export interface QueueOptions {
  /**
   * Idempotency key, 1 to 100 characters: one for each change, and the same for its repetitions,
   * even after a restart of your program. Derive it from your own record, such as `payout-4711`.
   * One call of `createMany` or `export` may send several requests. From the second one on, `.<n>`
   * is appended to the key: leave room for it.
   */
  readonly key: string;
  /** Correlation id, which history and lists show; default: the idempotency key. */
  readonly requestId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Selects commands of a server. With several fields, a command must match all of them. */
export interface CommandFilter {
  readonly status?: Command["status"] | undefined;
  readonly operation?: CommandOperation | undefined;
  readonly accountNumber?: string | undefined;
  readonly requestId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Commands of the items of the bulk that had this idempotency key. */
  readonly bulkIdempotencyKey?: string | undefined;
  /** Commands whose idempotency key begins with this text. */
  readonly idempotencyKeyPrefix?: string | undefined;
  /** Commands created at or after this time. */
  readonly from?: Date | string | undefined;
  /** Commands created at or before this time. */
  readonly to?: Date | string | undefined;
}

/** Queued changes: `kapi.commands`. */
export class CommandsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reads a command as it is now. */
  async get(commandId: string): Promise<Command> {
    return this.#read(commandId, { timeoutMs: ANSWER_TIME_MS });
  }

  /**
   * Waits for the final state of a command and returns the command.
   * @throws StillRunning if it is not final within `timeoutMs`; KapiError if its state cannot be
   * read; the reason of an abort. An answer that is late delays the error by at most a second.
   */
  async wait(commandId: string, { timeoutMs = DEFAULT_WAIT_MS, signal }: WaitOptions = {}): Promise<Command> {
    const deadlineMs = performance.now() + timeoutMs;
    const query = (): Query => {
      const leftS = Math.floor((deadlineMs - performance.now()) / 1_000);
      return leftS < 1 ? {} : { wait: Math.min(MAX_WAIT_PER_CALL_S, leftS) };
    };
    const request = { query, timeoutMs: MAX_WAIT_PER_CALL_S * 1_000 + ANSWER_TIME_MS, deadlineMs, signal };
    for (;;) {
      const startedAtMs = performance.now();
      const command = await this.#read(commandId, request);
      if (isFinal(command)) return command;
      const nowMs = performance.now();
      if (nowMs >= deadlineMs) {
        throw new StillRunning(`${command.operation} ${commandId} is not final after ${timeoutMs} ms`, command);
      }
      // kapi answers at once if too many requests of the organization wait: pause here instead.
      const pauseMs = Math.min(SHORTEST_POLL_MS - (nowMs - startedAtMs), deadlineMs - nowMs);
      if (pauseMs > 0) await delay(pauseMs, signal);
    }
  }

  /** The commands of a server, newest first. */
  list(serverId: string, filter: CommandFilter = {}): List<Command> {
    return listOf<Command>(this.#transport, pathOf("servers", serverId, "commands"), "commands", { ...filter });
  }

  /**
   * Waits for many commands, such as those of a bulk. Returns an outcome for each, in order, as
   * `Promise.allSettled` does: its result, or the error that {@link QueuedCommand.result} throws.
   * At most 8 commands are waited for at the same time. `timeoutMs` counts for each command from
   * the beginning of its own wait.
   */
  async waitAll<Operation extends CommandOperation>(
    commands: readonly QueuedCommand<Operation>[],
    options: WaitOptions = {},
  ): Promise<PromiseSettledResult<ResultOf<Operation>>[]> {
    const outcomes: PromiseSettledResult<ResultOf<Operation>>[] = Array(commands.length);
    const waiting = commands.entries();
    const waitNext = async (): Promise<void> => {
      for (const [index, command] of waiting) {
        try {
          outcomes[index] = { status: "fulfilled", value: await command.result(options) };
        } catch (reason) {
          outcomes[index] = { status: "rejected", reason };
        }
      }
    };
    await Promise.all(Array.from({ length: WAITS_AT_ONCE }, waitNext));
    return outcomes;
  }

  /** Queues a command: the same key always names the same command. */
  async queue<Operation extends CommandOperation>(
    request: Pick<RequestOptions, "method" | "path"> & { readonly body: object },
    { key, requestId, signal }: QueueOptions,
  ): Promise<QueuedCommand<Operation>> {
    const fields = { ...request.body, requestId: requestId ?? key };
    const { body } = await this.#transport.request<CommandEnvelope>({
      method: request.method,
      path: request.path,
      // A DELETE has no body: some proxies drop the body of a DELETE.
      ...(request.method === "DELETE" ? { query: fields } : { body: fields }),
      idempotencyKey: key,
      ...(signal === undefined ? {} : { signal }),
    });
    return new QueuedCommand<Operation>(this, body);
  }

  async #read(commandId: string, options: Omit<RequestOptions, "method" | "path">): Promise<Command> {
    const { body } = await this.#transport.request<{ command: Command }>({
      method: "GET",
      path: pathOf("commands", commandId),
      ...options,
    });
    return body.command;
  }
}

function isFinal({ status }: Command): boolean {
  return status === "succeeded" || status === "failed" || status === "expired";
}
