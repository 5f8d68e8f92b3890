import type { Secrets } from "./state/secrets.ts";
import type { StateRecord } from "./state/record.ts";
import type { Report } from "./report.ts";
import type { DebianPackages } from "./machine/packages.ts";

export type ServerName = "kafka" | "postgres" | "redis";
/**
 * How a server came to be there: named in the environment, in a container, or as a process of this
 * machine.
 */
export type Way = "given" | "container" | "native";

/** What starting a server needs to know and to tell. */
export interface ServerContext {
  /** Holds each server's data, in a folder of its own. */
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly record: StateRecord;
  readonly secrets: Secrets;
  readonly report: Report;
  readonly packages: DebianPackages;
  /** Nothing is kept: containers have no volume. */
  readonly ephemeral: boolean;
}

/** A server that answers. */
export interface RunningServer {
  readonly name: ServerName;
  readonly way: Way;
  /** In the form of the server's environment variable. */
  readonly address: string;
  /** Stops what was started for it; a given server is left alone. */
  stop(): Promise<void>;
}

/** One kind of server and its ways to be had. */
export interface ServerKind {
  readonly name: ServerName;
  readonly title: string;
  /** The environment variable with an address. */
  readonly variable: string;
  /** Whether a server answers at `address`. Never throws. */
  answers(address: string): Promise<boolean>;
  container(context: ServerContext): Promise<RunningServer>;
  native(context: ServerContext): Promise<RunningServer>;
}
