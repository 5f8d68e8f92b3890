/** The commands of the fake. Each is queued once for its key, and carried out once. */
import { FakeError, type FakeAnswer, invalid } from "./answers.ts";
import {
  type CommandOutcome,
  type FakeState,
  type Json,
  type StoredAccount,
  type StoredCommand,
  uuidOf,
} from "./state.ts";

const COMMAND_DEADLINE_MS = 15 * 60_000;
const ACTION_DEADLINE_MS = 24 * 3_600_000;

/** How a test controls the outcome of commands. */
export interface CommandControl {
  /** Whether a new command waits in the state `queued`. */
  readonly isHeld: () => boolean;
  /** Takes the outcome that a test set for the next command; null if it set none. */
  readonly takeOutcome: () => CommandOutcome | "expired" | null;
}

/** A command to queue. */
interface NewCommand {
  readonly operation: string;
  readonly serverId: string;
  /** Null: the command creates the account. */
  readonly account: StoredAccount | null;
  readonly payload: Json;
  readonly requestId: unknown;
  readonly key: string;
  readonly fingerprint: string;
  readonly deadlineMs: number;
  readonly createdBy: Json | null;
  readonly run: (commandId: string) => CommandOutcome;
}

/** A request that queues a command. */
export interface CommandRequest extends Pick<NewCommand, "operation" | "serverId"> {
  /** Method and path; for an item of a bulk, those of a single creation. */
  readonly target: string;
  readonly key: string | null;
  readonly body: Json;
  /** Is called only if the key is new. @throws FakeError for an account that does not exist. */
  readonly prepare: () => Pick<NewCommand, "account" | "run">;
}

/** Queues commands and carries them out. */
export class FakeCommands {
  readonly #state: FakeState;
  readonly #control: CommandControl;

  constructor(state: FakeState, control: CommandControl) {
    this.#state = state;
    this.#control = control;
  }

  /**
   * Queues the command of a request, once for its key.
   * @throws FakeError for an invalid request, or for the key of a different request.
   */
  queue(request: CommandRequest): FakeAnswer {
    const { operation, serverId, prepare } = request;
    const { key, fingerprint, requestId, payload, known } = this.#find(request);
    if (known !== undefined) {
      if (known.fingerprint !== fingerprint) throw keyReused(operation === "account.create" ? 409 : 400);
      return { status: 200, body: { command: known.view, duplicate: true } };
    }
    const identity = { key, fingerprint, requestId, payload, deadlineMs: COMMAND_DEADLINE_MS, createdBy: null };
    const queued = this.#add({ operation, serverId, ...identity, ...prepare() });
    return { status: 202, body: { command: queued, duplicate: false } };
  }

  /** Queues the creations of a bulk, all or none. @throws FakeError as {@link queue}. */
  queueBulk(items: readonly CommandRequest[]): FakeAnswer[] {
    const reused = items.flatMap((item, index) => {
      const { known, fingerprint } = this.#find(item);
      return known === undefined || known.fingerprint === fingerprint ? [] : [`accounts[${index}]`];
    });
    if (reused.length > 0) throw keyReused(409, `: ${reused.join(", ")}`);
    return items.map((item) => this.queue(item));
  }

  /** What identifies a request, and the command that its key already has. */
  #find({ target, key, body }: CommandRequest) {
    const given = requiredKey(key);
    if (typeof body["requestId"] !== "string") throw invalid("requestId", "is required");
    const { requestId, password: _password, ...payload } = body;
    const fingerprint = JSON.stringify([target, payload]);
    return { key: given, fingerprint, requestId, payload, known: this.#state.commands.get(given) };
  }

  /** Queues the command with which kapi acts on a breach; returns its id. */
  queueAction(
    breachId: string,
    { account, ...command }: Pick<NewCommand, "operation" | "payload" | "run"> & { readonly account: StoredAccount },
  ): string {
    const { id } = this.#add({
      ...command,
      account,
      serverId: account.serverId,
      requestId: breachId,
      key: `risk/${breachId}`,
      fingerprint: breachId,
      deadlineMs: ACTION_DEADLINE_MS,
      createdBy: { type: "system", id: "risk" },
    });
    return id;
  }

  /** Carries out a queued command. */
  finish({ view, run }: StoredCommand): void {
    const wanted = this.#control.takeOutcome();
    const outcome = wanted === "expired" ? null : (wanted ?? run());
    const at = this.#state.now();
    if (outcome === null) Object.assign(view, { status: "expired", completedAt: at, updatedAt: at });
    else if ("result" in outcome) {
      Object.assign(view, { status: "succeeded", attempts: 1, result: outcome.result, completedAt: at, updatedAt: at });
    } else {
      const { errorCode } = outcome;
      Object.assign(view, {
        status: "failed",
        attempts: 1,
        errorCode,
        errorMessage: errorCode,
        completedAt: at,
        updatedAt: at,
      });
    }
  }

  /** Adds a command, and carries it out unless commands are held. Returns it as it was queued. */
  #add(command: NewCommand): Json & { readonly id: string } {
    const { account, key, fingerprint, operation, serverId, payload, requestId, deadlineMs, createdBy } = command;
    const id = uuidOf(this.#state.organizationId, key);
    const at = this.#state.now();
    const view = {
      id,
      operation,
      status: "queued",
      managedAccountId: account?.id ?? uuidOf(id, "account"),
      attempts: 0,
      payload,
      result: null,
      errorCode: null,
      errorMessage: null,
      idempotencyKey: key,
      createdAt: at,
      completedAt: null,
      requestId,
      serverId,
      accountNumber: account?.accountNumber ?? null,
      updatedAt: at,
      deadlineAt: new Date(Date.parse(at) + deadlineMs).toISOString(),
      createdBy,
    };
    const stored: StoredCommand = { fingerprint, view, run: () => command.run(id) };
    this.#state.commands.set(key, stored);
    const queued = { ...view };
    if (!this.#control.isHeld()) this.finish(stored);
    return queued;
  }
}

/** Returns an idempotency key. @throws FakeError if it is missing or empty. */
export function requiredKey(key: string | null): string {
  if (key === null || key === "") throw invalid("Idempotency-Key", "is required");
  return key;
}

function keyReused(status: 400 | 409, items = ""): FakeError {
  const text = `Idempotency-Key was already used for a different request${items}`;
  return new FakeError(status, "IDEMPOTENCY_KEY_REUSED", text);
}
