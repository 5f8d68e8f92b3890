import type { Secrets } from "./state/secrets.ts";
import type { StateRecord } from "./state/record.ts";
import type { Report } from "./report.ts";
import type { DebianPackages } from "./machine/packages.ts";

export type ServerName = "kafka" | "postgres" | "redis";
/**
 * How a server is provided: by an address in the environment, in a container, or as a process of
 * this machine.
 */
export type Way = "given" | "container" | "native";

/** The dependencies of a server's start. */
export interface ServerContext {
  /** Contains one data folder for each server. */
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly record: StateRecord;
  readonly secrets: Secrets;
  readonly report: Report;
  readonly packages: DebianPackages;
  /**
   * The data need not outlive the run: containers have no volume. The data of processes stays in
   * `stateDir`, until the caller deletes it.
   */
  readonly ephemeral: boolean;
}

/** A server that answers. */
export interface RunningServer {
  readonly name: ServerName;
  readonly way: Way;
  /** In the format of the server's environment variable. */
  readonly address: string;
  /** Stops the server, unless its address was given in the environment. */
  stop(): Promise<void>;
}

/** One kind of server, and the ways to start it. */
export interface ServerKind {
  readonly name: ServerName;
  /** Without a version: the version of a given server is not known. */
  readonly title: string;
  /** The environment variable with an address. */
  readonly variable: string;
  /** Whether a server answers at `address`. Never throws. */
  answers(address: string): Promise<boolean>;
  container(context: ServerContext): Promise<RunningServer>;
  native(context: ServerContext): Promise<RunningServer>;
}
