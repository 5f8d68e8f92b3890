import { delay } from "@kapi/kernel";
import type { ClusterNode, Clusters } from "@kapi/servers";
import type { TestStack } from "@kapi/local/test-stack";

import type { RandomSource } from "../live/random-source.ts";

/** Longer than a consumer's session (10 s) and a broker's timeout (9 s). */
const BEYOND_SESSION_S = [12, 25] as const;
/** Shorter than the deadline of the oracle's requests (15 s): a request can outlast the fault. */
const SHORT_S = [3, 10] as const;
const READY_TIMEOUT_MS = 120_000;
/** Longer than a group keeps a silent member, and longer than any retry delay of a Kafka client. */
const UNAVAILABLE_MS = 180_000;
/** Time for a cluster manager or an orchestrator to detect a lost node or process, and to act. */
const MANAGER_MS = 3_000;

/** The targets of the faults. */
export interface Scene {
  readonly clusters: Clusters;
  readonly stack: TestStack;
  readonly random: RandomSource;
}

/** One kind of fault. `run` injects the fault, and reverts it. */
export interface Fault {
  readonly name: string;
  run(scene: Scene): Promise<void>;
}

type Kind = readonly [string, (scene: Scene) => Promise<void>];

/** Every fault of the servers and of kapi's processes. */
export function allFaults(stack: TestStack): Fault[] {
  const kinds = [...kafka(), ...redis(), ...postgres(), ...[...stack.processes.keys()].flatMap(processFaults)];
  return kinds.map(([name, run]) => ({ name, run }));
}

function kafka(): Kind[] {
  const node = ({ clusters, random }: Scene) => random.pick(clusters.kafka.nodes);
  return [
    ["kafka: broker killed", (scene) => killed(scene, node(scene))],
    ["kafka: broker paused", (scene) => paused(scene, node(scene))],
    [
      "kafka: broker stopped",
      async (scene) => {
        const broker = node(scene);
        await broker.stop();
        await seconds(scene, SHORT_S);
        await broker.start();
      },
    ],
    ...proxyFaults("kafka: broker", node, BEYOND_SESSION_S),
    ["kafka: broker replaced under a new id", (scene) => replaced(node(scene))],
    ["kafka: all brokers killed and restarted", (scene) => allRestarted(scene, scene.clusters.kafka.nodes)],
    [
      "kafka: all brokers paused",
      async (scene) => {
        const { nodes } = scene.clusters.kafka;
        await Promise.all(nodes.map((broker) => broker.pause()));
        await seconds(scene, BEYOND_SESSION_S);
        for (const broker of nodes) broker.resume();
      },
    ],
    [
      "kafka: all brokers unavailable for minutes",
      async (scene) => {
        const { nodes } = scene.clusters.kafka;
        await Promise.all(nodes.map((broker) => broker.kill()));
        await delay(UNAVAILABLE_MS);
        await Promise.all(nodes.map((broker) => broker.start()));
      },
    ],
  ];
}

function redis(): Kind[] {
  const node = ({ clusters, random }: Scene) => random.pick(clusters.redis.nodes);
  const master = ({ clusters, random }: Scene) => clusters.redis.masterOf(random.whole(0, 16_383));
  return [
    [
      "redis: master killed, failed over and back",
      async (scene) => {
        const former = await master(scene);
        await former.kill();
        await seconds(scene, BEYOND_SESSION_S);
        await former.start();
        await scene.clusters.redis.settled();
        if (!(await former.isMaster())) await former.takeOver();
      },
    ],
    ["redis: master paused and failed over", async (scene) => paused(scene, await master(scene))],
    [
      "redis: master handed over",
      async (scene) => {
        const { redis } = scene.clusters;
        const roles = await Promise.all(redis.nodes.map((one) => one.isMaster()));
        await scene.random.pick(redis.nodes.filter((_, at) => roles[at] === false)).takeOver();
      },
    ],
    ["redis: node killed", (scene) => killed(scene, node(scene))],
    [
      "redis: all nodes killed after command-status was paused",
      async (scene) => {
        const former = scene.stack.process("command-status");
        former.kill("SIGSTOP");
        await seconds(scene, BEYOND_SESSION_S);
        former.kill("SIGCONT");
        await allRestarted(scene, scene.clusters.redis.nodes);
      },
    ],
    ...proxyFaults("redis: node", node, SHORT_S),
    ["redis: node replaced under a new id", (scene) => replaced(node(scene))],
    ["redis: all nodes killed and restarted", (scene) => allRestarted(scene, scene.clusters.redis.nodes)],
  ];
}

function postgres(): Kind[] {
  const proxied = ({ clusters }: Scene): { proxy: ClusterNode["proxy"] } => clusters.postgres;
  const replication = ({ clusters }: Scene): { proxy: ClusterNode["proxy"] } => ({
    proxy: clusters.postgres.replication,
  });
  return [
    [
      "postgres: primary killed and failed over",
      async ({ clusters }) => {
        await clusters.postgres.primary.kill();
        await delay(MANAGER_MS);
        await clusters.postgres.failover();
        await clusters.postgres.rejoin();
      },
    ],
    [
      "postgres: primary paused and failed over",
      async ({ clusters }) => {
        await clusters.postgres.primary.pause();
        await delay(MANAGER_MS);
        await clusters.postgres.failover();
        await clusters.postgres.rejoin();
      },
    ],
    ["postgres: primary paused", (scene) => paused(scene, scene.clusters.postgres.primary)],
    ["postgres: primary killed and restarted", (scene) => killed(scene, scene.clusters.postgres.primary)],
    [
      "postgres: standby killed, detached and rejoined",
      async (scene) => {
        const { postgres } = scene.clusters;
        await postgres.standby.kill();
        await delay(MANAGER_MS);
        await postgres.detachStandby();
        await seconds(scene, SHORT_S);
        await postgres.rejoin();
      },
    ],
    [
      "postgres: both nodes killed and restarted",
      async (scene) => {
        const { primary, standby } = scene.clusters.postgres;
        await Promise.all([primary.kill(), standby.kill()]);
        await seconds(scene, SHORT_S);
        // Commits wait until the standby is back as well.
        await primary.start();
        await standby.start();
      },
    ],
    ...proxyFaults("postgres: primary", proxied, SHORT_S),
    ...proxyFaults("postgres: replication", replication, SHORT_S),
  ];
}

function processFaults(name: string): Kind[] {
  return [
    // The stack starts a new process automatically, as an orchestrator does.
    [
      `${name}: killed`,
      async ({ stack }) => {
        stack.process(name).kill("SIGKILL");
        await delay(MANAGER_MS);
        await stack.process(name).ready(READY_TIMEOUT_MS);
      },
    ],
    [
      `${name}: paused`,
      async (scene) => {
        scene.stack.process(name).kill("SIGSTOP");
        await seconds(scene, BEYOND_SESSION_S);
        scene.stack.process(name).kill("SIGCONT");
      },
    ],
  ];
}

/** The faults of the network between kapi and a node, or between the PostgreSQL nodes. */
function proxyFaults(
  what: string,
  pick: (scene: Scene) => { readonly proxy: ClusterNode["proxy"] },
  range: readonly [number, number],
): Kind[] {
  const faulty = (name: string, begin: (proxy: ClusterNode["proxy"]) => Promise<void>): Kind => [
    `${what} ${name}`,
    async (scene) => {
      const { proxy } = pick(scene);
      await begin(proxy);
      await seconds(scene, range);
      await proxy.pass();
    },
  ];
  return [
    faulty("in a black hole", (proxy) => proxy.blackhole()),
    faulty("whose replies are lost", (proxy) => proxy.dropReplies()),
    faulty("that refuses", (proxy) => proxy.refuse()),
    faulty("300 ms away", (proxy) => proxy.delay(300)),
  ];
}

async function allRestarted(scene: Scene, nodes: readonly ClusterNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.kill()));
  await seconds(scene, SHORT_S);
  await Promise.all(nodes.map((node) => node.start()));
}

async function killed(scene: Scene, node: ClusterNode): Promise<void> {
  await node.kill();
  await seconds(scene, BEYOND_SESSION_S);
  await node.start();
}

async function paused(scene: Scene, node: ClusterNode): Promise<void> {
  await node.pause();
  await seconds(scene, BEYOND_SESSION_S);
  node.resume();
}

async function replaced(node: {
  readonly id: string | number;
  readonly name: string;
  replace(): Promise<void>;
}): Promise<void> {
  const former = node.id;
  await node.replace();
  if (node.id === former) throw new Error(`${node.name} still has the id ${former}`);
}

async function seconds({ random }: Scene, [least, most]: readonly [number, number]): Promise<void> {
  await delay(random.whole(least, most) * 1_000);
}

/** Reverts everything that a fault may have left, so that the run continues on a healthy system. */
export async function revertAll({ clusters, stack }: Pick<Scene, "clusters" | "stack">): Promise<void> {
  const { kafka, redis, postgres } = clusters;
  for (const process of stack.processes.values()) process.kill("SIGCONT");
  const nodes = [...kafka.nodes, ...redis.nodes];
  await Promise.all([postgres.proxy.pass(), postgres.replication.pass(), ...nodes.map(({ proxy }) => proxy.pass())]);
  await Promise.all([postgres.primary.start(), ...nodes.map((node) => node.start())]);
  if (postgres.standby.state === "down") await postgres.rejoin();
  else postgres.standby.resume();
  await Promise.all([kafka.settled(), redis.settled(), postgres.settled()]);
}
