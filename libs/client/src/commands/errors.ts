import type { Command } from "../generated/api.ts";

/** A command that did not succeed, with its last known state. */
export class CommandError extends Error {
  readonly command: Command;

  constructor(message: string, command: Command) {
    super(message);
    this.name = new.target.name;
    this.command = command;
  }
}

/**
 * The command failed; `code` says why. The command had no effect, with two exceptions: a failed
 * `flatten` may have closed positions and cancelled orders. A failed `disable` with `flatten` may
 * have done the same, and disabled the account.
 */
export class CommandFailed extends CommandError {
  get code(): string {
    return this.command.errorCode ?? "INTERNAL";
  }
}

/** The deadline passed before the command was executed. It had no effect, and never will have. */
export class CommandExpired extends CommandError {}

/** The command was not final within the time that the caller waited. It can still be executed. */
export class StillRunning extends CommandError {}
