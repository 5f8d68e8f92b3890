/**
 * A PostgreSQL primary with a streaming standby. Clients reach the primary through one proxy, whose
 * target follows the primary; the standby reads from the primary through another proxy. Replication
 * is synchronous: a commit is acknowledged when the standby has it on disk too, so a failover loses
 * no acknowledged commit. If the standby is unavailable, commits wait until the standby is back, or
 * until a call of `detachStandby`. In production, a cluster manager detaches the standby.
 */
import { rmSync } from "node:fs";
import path from "node:path";

import { Client } from "pg";

import { LocalError } from "../local-error.ts";
import { freePort } from "../machine/ports.ts";
import { postgresAddress, startPostgresProcess } from "../postgres.ts";
import type { ServerContext } from "../server.ts";
import { copyAsStandby } from "./base-backup.ts";
import { type ClusterNode, endNodes, NodeProcess } from "./node.ts";
import { type NodeProxy, Proxies } from "./proxies.ts";
import { waitUntil } from "./wait.ts";

const HOST = "127.0.0.1";
const SLOT = "standby";
const CONNECT_TIMEOUT_MS = 30_000;
const STATEMENT_TIMEOUT_MS = 60_000;
const STREAMING_DEADLINE_MS = 60_000;
const PROMOTION_DEADLINE_S = 60;

/**
 * A running primary and its standby. `primary` and `standby` are roles: `failover` swaps their
 * nodes.
 */
export interface PostgresPair {
  /** URL of the proxy, in the format of POSTGRES_URL. */
  readonly url: string;
  /** Between the clients and the primary. */
  readonly proxy: NodeProxy;
  /** Between the standby and the primary. */
  readonly replication: NodeProxy;
  readonly primary: ClusterNode;
  readonly standby: ClusterNode;
  /**
   * Kills the primary, promotes the standby and points both proxies to the new primary. The new
   * primary has no standby until `rejoin`, and its commits do not wait for one.
   */
  failover(): Promise<void>;
  /**
   * Kills the node `standby`, and starts it with a new base backup of the primary. From then on
   * commits wait for the standby.
   */
  rejoin(): Promise<void>;
  /** Commits of the primary no longer wait for the standby. */
  detachStandby(): Promise<void>;
  /** Makes commits wait for the standby (again), and waits until the standby streams. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts both nodes, and returns when commits wait for the standby. */
export async function startPostgresPair(context: ServerContext): Promise<PostgresPair> {
  const ports = [await freePort(), await freePort()];
  const target = { host: HOST, port: ports[0] ?? 0 };
  const proxies = new Proxies();
  const proxy = await proxies.open(target, await freePort());
  const replication = await proxies.open(target, await freePort());
  const pair = new Pair({ context, proxies, proxy, replication }, ports);
  try {
    await pair.primary.start();
    await pair.rejoin();
  } catch (error) {
    await pair.stop();
    throw error;
  }
  return pair;
}

class PostgresNode extends NodeProcess {
  readonly port: number;
  readonly folder: string;

  constructor(context: ServerContext, name: string, port: number, proxy: NodeProxy, replication: NodeProxy) {
    super(name, proxy, () => startPostgresProcess(context, { name, port, settings: settingsOf(context, replication) }));
    this.port = port;
    this.folder = path.join(context.stateDir, name);
  }
}

/** The settings of both nodes. A node uses some of them only while it is the standby. */
function settingsOf({ secrets }: ServerContext, replication: NodeProxy): string[] {
  const login = `user=kapi password=${secrets.postgresPassword} application_name=${SLOT}`;
  return [
    "shared_buffers=128MB",
    `primary_conninfo=host=${HOST} port=${replication.port} ${login}`,
    `primary_slot_name=${SLOT}`,
    // A replication connection that is silent for this time is closed (PostgreSQL's default: 60 s).
    "wal_sender_timeout=10s",
    "wal_receiver_timeout=10s",
    "max_slot_wal_keep_size=2GB",
  ];
}

interface Network {
  readonly context: ServerContext;
  readonly proxies: Proxies;
  readonly proxy: NodeProxy;
  readonly replication: NodeProxy;
}

class Pair implements PostgresPair {
  readonly url: string;
  readonly proxy: NodeProxy;
  readonly replication: NodeProxy;
  readonly #context: ServerContext;
  readonly #proxies: Proxies;
  #primary: PostgresNode;
  #standby: PostgresNode;

  constructor({ context, proxies, proxy, replication }: Network, ports: readonly number[]) {
    const [first = 0, second = 0] = ports;
    this.#context = context;
    this.#proxies = proxies;
    this.proxy = proxy;
    this.replication = replication;
    this.#primary = new PostgresNode(context, "postgres-1", first, proxy, replication);
    this.#standby = new PostgresNode(context, "postgres-2", second, proxy, replication);
    this.url = postgresAddress(context, HOST, proxy.port);
  }

  get primary(): ClusterNode {
    return this.#primary;
  }

  get standby(): ClusterNode {
    return this.#standby;
  }

  async failover(): Promise<void> {
    const [former, next] = [this.#primary, this.#standby];
    if (next.state !== "running") throw new LocalError(`${next.name} is ${next.state} and cannot be promoted.`);
    await Promise.all([this.proxy.refuse(), this.replication.refuse()]);
    // A primary that is slow or unreachable must not acknowledge another commit.
    await former.kill();
    await this.#on(next, async (client) => {
      const { rows } = await client.query<{ promoted: boolean }>(
        `select pg_promote(true, ${PROMOTION_DEADLINE_S}) as promoted`,
      );
      if (rows[0]?.promoted !== true) throw new LocalError(`${next.name} was not promoted`);
    });
    [this.#primary, this.#standby] = [next, former];
    const target = { host: HOST, port: next.port };
    await Promise.all([this.proxy.retarget(target), this.replication.retarget(target)]);
    await Promise.all([this.proxy.pass(), this.replication.pass()]);
  }

  async rejoin(): Promise<void> {
    const [primary, standby] = [this.#primary, this.#standby];
    await standby.kill();
    await this.#on(primary, async (client) => {
      await setSynchronousStandbys(client, "");
      const former = "select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active";
      await client.query(former);
      const slot = `select pg_create_physical_replication_slot($1, true)
        where not exists (select from pg_replication_slots where slot_name = $1)`;
      await client.query(slot, [SLOT]);
      await copyAsStandby(client, primary.folder, standby.folder);
    }).catch((error: unknown) => {
      rmSync(standby.folder, { recursive: true, force: true });
      throw error;
    });
    await standby.start();
    await this.#waitForStandby("*");
  }

  async detachStandby(): Promise<void> {
    await this.#on(this.#primary, (client) => setSynchronousStandbys(client, ""));
  }

  async settled(): Promise<void> {
    await this.#waitForStandby("*");
  }

  async stop(): Promise<void> {
    // The standby first: in its shutdown, a primary waits until a connected standby has all data.
    await endNodes(this.#context, [this.#standby]);
    await endNodes(this.#context, [this.#primary]);
    this.#proxies.stop();
  }

  async #waitForStandby(names: string): Promise<void> {
    await this.#on(this.#primary, async (client) => {
      await setSynchronousStandbys(client, names);
      await waitUntil("the standby streams", STREAMING_DEADLINE_MS, async () => {
        const { rows } = await client.query(
          "select from pg_stat_replication where sync_state = 'sync' and state = 'streaming'",
        );
        return rows.length === 1;
      });
    });
  }

  /** Connects directly to the node, so that faults of the proxy have no effect. */
  async #on<T>(node: PostgresNode, work: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client({
      connectionString: postgresAddress(this.#context, HOST, node.port),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: STATEMENT_TIMEOUT_MS,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Sets the names of the standbys that commits wait for: "*" for any standby, "" for none. */
async function setSynchronousStandbys(client: Client, names: string): Promise<void> {
  await client.query(`alter system set synchronous_standby_names = '${names}'`);
  await client.query("select pg_reload_conf()");
}
