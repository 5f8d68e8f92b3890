import {
  askRedis,
  endProcess,
  freePort,
  type NativeServer,
  type ServerContext,
  startRedisProcess,
} from "@kapi/servers";

import { type CertificateAuthority, createAuthority } from "./certificates.ts";
import { eventually } from "./eventually.ts";
import { startInFolder, testFolder } from "./state-folder.ts";

const MASTERS = 3;
const SLOTS = 16_384;
/** A node that is silent this long counts as failed. Its replica, if it has one, takes over. */
const NODE_TIMEOUT_MS = 1_000;
const CRASH_DEADLINE_MS = 5_000;
/** The host name that the nodes report to clients. Their certificates are for this name. */
const HOST = "localhost";

/** One node of a cluster. */
export interface TestRedisNode {
  /** The id of the node in the cluster. */
  readonly id: string;
  readonly url: string;
  readonly secureUrl: string;
  /**
   * Runs one command ("CLUSTER SETSLOT 1 STABLE"), then QUIT. Returns both replies, not parsed.
   */
  ask(command: string): Promise<string>;
  /** Kills the process with SIGKILL. */
  crash(): Promise<void>;
}

/**
 * A Redis Cluster of three masters. Each master has a third of the slots; the first has a replica.
 */
export interface TestRedisCluster {
  readonly masters: readonly TestRedisNode[];
  readonly replica: TestRedisNode;
  /** The issuer of the nodes' certificates, for `secureUrl`. */
  readonly authority: CertificateAuthority;
  stop(): Promise<void>;
}

/** Starts the nodes as processes of this machine. Resolves when every slot is served. */
export async function startTestRedisCluster(): Promise<TestRedisCluster> {
  const stateDir = testFolder();
  return startInFolder(stateDir, async ({ scope, context }) => {
    const authority = await createAuthority(stateDir, "authority");
    const certificate = await authority.issue(HOST);
    const files = ["--tls-cert-file", certificate.certificateFile, "--tls-key-file", certificate.keyFile];
    const tls = [...files, "--tls-ca-cert-file", authority.certificateFile, "--tls-auth-clients", "no"];
    const nodes: Node[] = [];
    for (let at = 0; at <= MASTERS; at += 1) {
      nodes.push(await scope.start(`node ${at}`, () => startNode(context, `redis-${at}`, tls)));
    }
    const [replica, ...masters] = nodes.toReversed() as [Node, ...Node[]];
    await unite(masters.toReversed(), replica);
    return { masters: masters.toReversed(), replica, authority, stop: () => scope.stop() };
  });
}

/**
 * Matches the keys in the replies to CLUSTER GETKEYSINSLOT and QUIT. The other lines are lengths,
 * and the `+OK` of QUIT.
 */
const KEYS = /^(?![*$+])\S+/gm;
const MAX_KEYS = 1_000;

/**
 * Moves a slot with at most 1,000 keys to another master, and returns the keys of the slot. Clients
 * may use the slot meanwhile.
 */
export async function moveSlot(slot: number, from: TestRedisNode, to: TestRedisNode): Promise<string[]> {
  await to.ask(`CLUSTER SETSLOT ${slot} IMPORTING ${from.id}`);
  await from.ask(`CLUSTER SETSLOT ${slot} MIGRATING ${to.id}`);
  const keys = (await from.ask(`CLUSTER GETKEYSINSLOT ${slot} ${MAX_KEYS}`)).match(KEYS) ?? [];
  for (const key of keys) await from.ask(`MIGRATE 127.0.0.1 ${new URL(to.secureUrl).port} ${key} 0 1000`);
  for (const node of [to, from]) await node.ask(`CLUSTER SETSLOT ${slot} NODE ${to.id}`);
  return keys;
}

interface Node extends TestRedisNode {
  /** Address, port and cluster bus port, for CLUSTER MEET. */
  readonly meetAddress: string;
}

async function startNode(
  context: ServerContext,
  name: string,
  tls: readonly string[],
): Promise<{ value: Node; stop(): Promise<void> }> {
  const [port, securePort, busPort] = [await freePort(), await freePort(), await freePort()];
  const cluster = {
    "cluster-enabled": "yes",
    "cluster-port": String(busPort),
    "cluster-node-timeout": String(NODE_TIMEOUT_MS),
    // A slot without a node does not block the other slots.
    "cluster-require-full-coverage": "no",
    "cluster-announce-hostname": HOST,
    "cluster-preferred-endpoint-type": "hostname",
    "tls-port": String(securePort),
    "tls-cluster": "yes",
    "tls-replication": "yes",
  };
  const settings = [...Object.entries(cluster).flatMap(([setting, value]) => [`--${setting}`, value]), ...tls];
  const server: NativeServer = await startRedisProcess(context, { name, port, settings });
  const ask = (command: string): Promise<string> => askRedis(server.address, command);
  const [, id = ""] = (await ask("CLUSTER MYID")).split("\r\n");
  const value: Node = {
    id,
    url: `redis://${HOST}:${port}`,
    secureUrl: `rediss://${HOST}:${securePort}`,
    meetAddress: `127.0.0.1 ${securePort} ${busPort}`,
    ask,
    crash: () => endProcess(server.id, "SIGKILL", CRASH_DEADLINE_MS),
  };
  return { value, stop: () => server.stop() };
}

async function unite(masters: readonly Node[], replica: Node): Promise<void> {
  const nodes = [...masters, replica];
  for (const [at, master] of masters.entries()) {
    const [first, next] = [at, at + 1].map((part) => Math.floor((part * SLOTS) / masters.length));
    await master.ask(`CLUSTER ADDSLOTSRANGE ${first} ${(next ?? 0) - 1}`);
  }
  for (const [at, node] of nodes.entries()) await node.ask(`CLUSTER SET-CONFIG-EPOCH ${at + 1}`);
  const [first, ...others] = nodes;
  for (const node of others) await first?.ask(`CLUSTER MEET ${node.meetAddress}`);
  await allSee(nodes, /cluster_known_nodes:4\r/);
  await eventually(async () => (await replica.ask(`CLUSTER REPLICATE ${masters[0]?.id}`)).startsWith("+OK"));
  await allSee(nodes, /cluster_state:ok\r/);
  await eventually(async () => (await replica.ask("INFO replication")).includes("master_link_status:up"));
}

async function allSee(nodes: readonly Node[], wanted: RegExp): Promise<void> {
  await eventually(async () => {
    const seen = await Promise.all(nodes.map((node) => node.ask("CLUSTER INFO")));
    return seen.every((info) => wanted.test(info));
  });
}
