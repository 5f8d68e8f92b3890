import type { Command, CommandEnvelope } from "../generated/api.ts";
import { CommandExpired, CommandFailed } from "./errors.ts";
import type { CommandOperation, ResultOf } from "./results.ts";

/**
 * How long to wait for the final state of a command. The end of a wait does not cancel the command.
 */
export interface WaitOptions {
  /** Maximum time to wait for a final state, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** An abort ends the wait, which rejects with the reason of the abort. */
  readonly signal?: AbortSignal | undefined;
}

/** Reads commands by id. */
interface CommandReader {
  get(commandId: string): Promise<Command>;
  wait(commandId: string, options: WaitOptions): Promise<Command>;
}

/** A command that kapi has accepted. */
export class QueuedCommand<Operation extends CommandOperation = CommandOperation> {
  readonly id: string;
  readonly operation: Operation;
  readonly idempotencyKey: string;
  /** Whether an earlier request with the same idempotency key queued the command. */
  readonly duplicate: boolean;
  /**
   * The passwords of a created account, which only kapi's first answer has. Null for other
   * operations, and if an earlier request got that answer. If that answer was lost, reset the
   * passwords.
   */
  readonly credentials: { readonly tradingPassword: string; readonly investorPassword: string } | null;
  /**
   * The new password of a reset, even if the reset is repeated with the same key; null for other
   * operations.
   */
  readonly password: string | null;
  readonly #commands: CommandReader;

  constructor(commands: CommandReader, { command, duplicate, credentials, password }: CommandEnvelope) {
    this.#commands = commands;
    this.id = command.id;
    this.operation = command.operation as Operation;
    this.idempotencyKey = command.idempotencyKey;
    this.duplicate = duplicate;
    this.credentials = credentials ?? null;
    this.password = password ?? null;
  }

  /** Reads the command as it is now. */
  get(): Promise<Command> {
    return this.#commands.get(this.id);
  }

  /**
   * Waits for the final state and returns the result. From then on every read shows the effect.
   * @throws CommandFailed if the command failed; CommandExpired if it was not executed in time;
   * StillRunning if it is not final within `timeoutMs`; KapiError if its state cannot be read; the
   * reason of an abort.
   */
  async result(options: WaitOptions = {}): Promise<ResultOf<Operation>> {
    return resultOf<Operation>(await this.#commands.wait(this.id, options));
  }
}

/** Returns the result of a final command. @throws CommandFailed, CommandExpired */
export function resultOf<Operation extends CommandOperation>(command: Command): ResultOf<Operation> {
  const subject = `${command.operation} ${command.id}`;
  if (command.status === "succeeded") return command.result as unknown as ResultOf<Operation>;
  if (command.status === "expired") throw new CommandExpired(`${subject} expired without effect`, command);
  throw new CommandFailed(`${subject} failed: ${command.errorCode}: ${command.errorMessage ?? ""}`, command);
}
