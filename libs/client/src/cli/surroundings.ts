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

export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Asks for a line; the answer to a secret question is not shown. */
  readonly ask: (question: string, options?: { readonly isSecret: boolean }) => Promise<string>;
  /** The first line of standard input. */
  readonly readLine: () => Promise<string>;
  /** Whether `out` is a terminal: then output has colours, and commands wait for results. */
  readonly isTerminal: boolean;
  /** Width of the terminal, in characters. */
  readonly columns: number;
  readonly nowMs: () => number;
  /** Ends a command that runs until it is stopped. */
  readonly signal: AbortSignal;
  /**
   * Returns the connection to use if no option, variable or profile gives one; null if there is
   * none.
   */
  readonly fallback?: (() => Promise<Connection | null>) | undefined;
}
