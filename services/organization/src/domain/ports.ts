/** A command that is not final, with what is reserved for it. */
export interface OpenCommand {
  readonly commandId: string;
  readonly organizationId: string;
  /** Credits. */
  readonly reservedCredits: number;
}

/** What the ledger asks of command-status. Every call rejects when it is away. */
export interface CommandStatus {
  /** Resolves once everything published to `commands.*` and `command.events` before the call was taken in. */
  readonly caughtUp: () => Promise<void>;
  /** The commands of these organizations that are not final. */
  readonly open: (organizationIds: readonly string[]) => Promise<readonly OpenCommand[]>;
  /** Per command id, whether the command is known. */
  readonly known: (commandIds: readonly string[]) => Promise<readonly boolean[]>;
}
