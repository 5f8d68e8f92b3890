import { isAlive, killProcess, pauseProcess, resumeProcess } from "../machine/processes.ts";
import type { NativeServer } from "../native.ts";
import type { ServerContext } from "../server.ts";
import type { NodeProxy } from "./proxies.ts";

const GONE_DEADLINE_MS = 10_000;
const PAUSE_DEADLINE_MS = 20_000;

export type NodeState = "running" | "paused" | "down";

/** One node of a cluster: a process of this machine, reached through a proxy. */
export interface ClusterNode {
  readonly name: string;
  /**
   * Between the clients and this node. The nodes of a PostgreSQL pair have one common proxy, which
   * leads to the primary.
   */
  readonly proxy: NodeProxy;
  readonly state: NodeState;
  /** Starts the node with its data, and waits until it answers. A paused node is only resumed. */
  start(): Promise<void>;
  /** Shuts the node down cleanly, as for maintenance. */
  stop(): Promise<void>;
  /** Kills the node with SIGKILL. */
  kill(): Promise<void>;
  /** Pauses the node (SIGSTOP): connections stay open, the node does not answer. */
  pause(): Promise<void>;
  /** Resumes a paused node (SIGCONT). */
  resume(): void;
}

/**
 * Ends nodes at the end of a run. If their data is kept, the nodes are shut down cleanly; otherwise
 * they are killed.
 */
export async function endNodes({ ephemeral }: ServerContext, nodes: readonly ClusterNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => (ephemeral ? node.kill() : node.stop())));
}

/** A {@link ClusterNode}. Each start calls `launch`, which starts a new process. */
export class NodeProcess implements ClusterNode {
  readonly name: string;
  readonly proxy: NodeProxy;
  readonly #launch: () => Promise<NativeServer>;
  #server: NativeServer | null = null;
  #paused = false;

  constructor(name: string, proxy: NodeProxy, launch: () => Promise<NativeServer>) {
    this.name = name;
    this.proxy = proxy;
    this.#launch = launch;
  }

  get state(): NodeState {
    if (this.#server === null || !isAlive(this.#server.id)) return "down";
    return this.#paused ? "paused" : "running";
  }

  async start(): Promise<void> {
    if (this.state !== "down") return this.resume();
    await this.#forget();
    this.#server = await this.#launch();
  }

  async stop(): Promise<void> {
    this.resume();
    await this.#forget();
  }

  async kill(): Promise<void> {
    if (this.#server !== null) await killProcess(this.#server.id, GONE_DEADLINE_MS);
    await this.#forget();
  }

  async pause(): Promise<void> {
    if (this.#server === null) return;
    await pauseProcess(this.#server.id, PAUSE_DEADLINE_MS);
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    if (this.#server !== null) resumeProcess(this.#server.id);
  }

  async #forget(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#paused = false;
    await server?.stop();
  }
}
