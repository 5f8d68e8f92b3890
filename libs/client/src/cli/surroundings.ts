/** What the command line needs from the process that runs it. Tests replace it. */

/** How to reach kapi. */
export interface Connection {
  readonly baseUrl: string;
  readonly key: string;
  readonly liveUrl?: string | undefined;
  /** The server of commands without `--server`. */
  readonly serverId?: string | undefined;
  /** Control API of a simulated trading server. */
  readonly controlUrl?: string | undefined;
  readonly controlToken?: string | undefined;
}

/**
 * The terminal and the environment of a command. All input and output of commands goes through it,
 * except files.
 */
export interface Surroundings {
  /** Environment variables by name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Writes a result, which includes its line ends. */
  readonly out: (text: string) => void;
  /** Writes an error or a note, which includes its line ends. */
  readonly err: (text: string) => void;
  /** Asks for a line; the answer to a secret question is not shown. */
  readonly ask: (question: string, options?: { readonly isSecret: boolean }) => Promise<string>;
  /** The first line of standard input. */
  readonly readLine: () => Promise<string>;
  /** Whether `out` is a terminal: then output has colours, and commands wait for results. */
  readonly isTerminal: boolean;
  /** Width of the terminal, in characters. */
  readonly columns: number;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Ends a command that runs until it is stopped. */
  readonly signal: AbortSignal;
  /**
   * Returns the connection to use if no option, variable or profile gives one; null if there is
   * none.
   */
  readonly fallback?: (() => Promise<Connection | null>) | undefined;
}
