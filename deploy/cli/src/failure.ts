/** How the command line ends; shown in its help. */
export const EXIT_CODES = {
  /** The service refused what was asked. */
  refused: 1,
  /** The command is not one, or an option is missing or makes no sense. */
  usage: 2,
  /** The service, or a server behind it, cannot be reached now; the command can be made again. */
  unavailable: 3,
} as const;

/** A command that cannot be done: its message is for the one who typed it. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}
