/** What the command line needs of the process that runs it. Tests give their own. */
/** How to reach kapi. */
export interface Connection {
  readonly baseUrl: string;
  readonly key: string;
  readonly liveUrl?: string | undefined;
  /** The server of commands that name none. */
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
  /** The connection if neither an option, a variable nor a profile gives one; null without one. */
  readonly fallback?: (() => Promise<Connection | null>) | undefined;
}
