import { type Deferred, deferred } from "@kapi/kernel";

import type { CommandExecutor, CommandOutcome, LeasedCommand } from "../src/index.ts";

/** The trading server gave no clear answer. */
class NoAnswer extends Error {}

/** How calls with commands of an account behave. */
export type Behaviour = "apply" | "reject" | "unreachable" | "drop-answer" | "throw" | "hang" | "pending";

/**
 * Keeps outcomes by reference, as the trading-server contract requires: the first outcome of a
 * reference is final, and settling closes a reference without an outcome. So `applied` has each
 * command at most once, and `executed` has a command as often as it was sent.
 */
export class FakeTradingServer {
  /** Command ids in the order in which their changes were applied. */
  readonly applied: string[] = [];
  /** Command ids in the order in which they were sent. */
  readonly executed: string[] = [];
  readonly #outcomes = new Map<string, CommandOutcome<null>>();
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #hanging: (() => void)[] = [];
  #gate: Deferred<void> | null = null;
  /** If false, settling gets no answer. */
  settles = true;

  /** Sets the behaviour for commands of the account. */
  behave(accountNumber: string, behaviour: Behaviour): void {
    this.#behaviours.set(accountNumber, behaviour);
  }

  /** Releases the hanging calls: each change applies now, unless its reference was closed. */
  release(): void {
    for (const go of this.#hanging.splice(0)) go();
  }

  /** Applies a change that arrives late, unless its reference was closed. */
  applyLate(commandId: string): void {
    this.#apply(commandId);
  }

  /** Blocks new calls of `execute` until the returned function is called. */
  closeGate(): () => void {
    const gate = deferred<void>();
    this.#gate = gate;
    return () => {
      this.#gate = null;
      gate.resolve();
    };
  }

  readonly executor: CommandExecutor<null> = {
    execute: async (_serverId, commands) => {
      await this.#gate?.promise;
      return Promise.all(commands.map((command) => this.#execute(command)));
    },
    settle: async (_serverId, commands) => {
      if (!this.settles) throw new NoAnswer("settle");
      return commands.map(({ message }) => {
        const outcome = this.#outcomes.get(message.commandId) ?? { kind: "closed" as const };
        this.#outcomes.set(message.commandId, outcome);
        return outcome;
      });
    },
    apply: async () => new Map(),
    isUnreachable: (error) => error instanceof NoAnswer,
  };

  async #execute({ message }: LeasedCommand): Promise<CommandOutcome<null>> {
    const { commandId, accountNumber } = message;
    this.executed.push(commandId);
    switch (this.#behaviours.get(accountNumber ?? "") ?? "apply") {
      case "apply":
        return this.#apply(commandId);
      case "reject":
        return this.#keep(commandId, {
          kind: "failed",
          errorCode: "INSUFFICIENT_FUNDS",
          errorMessage: "no money",
          effect: null,
        });
      case "unreachable":
        return { kind: "unreachable", reason: "set by the test" };
      case "drop-answer":
        this.#apply(commandId);
        return { kind: "unreachable", reason: "the answer was lost" };
      case "pending":
        this.#apply(commandId);
        return { kind: "pending" };
      case "throw":
        throw new TypeError("a defect in the executor");
      case "hang":
        await new Promise<void>((resolve) => this.#hanging.push(resolve));
        return this.#apply(commandId);
    }
  }

  #apply(commandId: string): CommandOutcome<null> {
    const known = this.#outcomes.get(commandId);
    if (known !== undefined) return known;
    this.applied.push(commandId);
    return this.#keep(commandId, { kind: "succeeded", result: { done: true }, effect: null });
  }

  #keep(commandId: string, outcome: CommandOutcome<null>): CommandOutcome<null> {
    const known = this.#outcomes.get(commandId) ?? outcome;
    this.#outcomes.set(commandId, known);
    return known;
  }
}
