/** What the command line needs from its process. Tests pass their own {@link Surroundings}. */

/** How to reach kapi. */
export interface Connection {
  readonly baseUrl: string;
  readonly key: string;
  readonly liveUrl?: string | undefined;
  /** The trading server, if `--server` is not given. */
  readonly serverId?: string | undefined;
  /** Control API of a simulated trading server. */
  readonly controlUrl?: string | undefined;
  readonly controlToken?: string | undefined;
}

/**
 * The terminal and the environment of a command. Commands read and write the terminal only through
 * this interface.
 */
export interface Surroundings {
  /** Environment variables by name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Writes a result. `text` includes the line ends. */
  readonly out: (text: string) => void;
  /** Writes an error or a note. `text` includes the line ends. */
  readonly err: (text: string) => void;
  /** Asks for a line; the answer to a secret question is not shown. */
  readonly ask: (question: string, options?: { readonly isSecret: boolean }) => Promise<string>;
  /** The first line of standard input. */
  readonly readLine: () => Promise<string>;
  /** Whether `out` is a terminal: then output has colours, and long lines of tables are cut off. */
  readonly isTerminal: boolean;
  /** Width of the terminal, in characters. */
  readonly columns: number;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /**
   * Aborted when the user stops the program. The abort ends waits, and commands that run until they
   * are stopped, such as `kapi stream`.
   */
  readonly signal: AbortSignal;
  /**
   * Returns the connection of the kapi on this machine; null if there is none. Not called if
   * `--profile` is given, or if KAPI_URL and KAPI_KEY are both set.
   */
  readonly fallback?: (() => Promise<Connection | null>) | undefined;
}
