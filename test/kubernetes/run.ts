/**
 * `npm run verify -- cluster`: installs the chart with Kafka, Redis and PostgreSQL as pods. Then it
 * upgrades the release, deletes pods, drains a node and rolls back, while a client outside uses
 * kapi. At the end it uninstalls the chart. The run needs kubectl and helm, and in `KUBECONFIG` a
 * cluster with at least two nodes that has the images <KAPI_REPOSITORY>/<program>:<tag> with both
 * tags, `KAPI_TAG` and `KAPI_NEXT_TAG`. No request may need more than one retry, except reads of
 * open positions, which need the trading server. `KAPI_NODE_ADDRESS` is an address of the first
 * node; without it, the internal address is used. `CLUSTER_MUTATIONS` and `CLUSTER_READS` are
 * requests a second. `KEEP_CLUSTER_NAMESPACE=on` keeps the namespace of the run.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { eventually } from "@kapi/testkit";

import { type Demo, OutsideClient, pause } from "../e2e/outside-client.ts";
import { Checker } from "../live/checker.ts";
import { RandomSource } from "../live/random-source.ts";
import { SampleLedger } from "../live/sample-ledger.ts";
import { Violations } from "../live/violations.ts";
import { checkCommands, checkCredits } from "../rolling/reconciliation.ts";
import { Traffic } from "../rolling/traffic.ts";
import { Cluster } from "./cluster.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const HELM = path.join(ROOT, "deploy/helm");
const VALUES = path.join(import.meta.dirname, "values.yaml");
const SERVERS = ["kafka", "redis", "postgres"];
const LEVERAGES = "1,2,5,10,20,25,30,50,100,200,300,400,500,1000,2000,5000,10000";
const CREDITS = "10000000";
const ACCOUNTS = 10;
const SOCKETS = 5;
const INITIAL_BALANCE = 1_000_000;
const WAIT = "300s";
/** Time of undisturbed traffic before the first disturbance, and after each disturbance. */
const CALM_MS = 5_000;
/** Time limit until the key is accepted, the webhook is delivered, or a balance is right. */
const WAITING = { timeoutMs: 60_000, intervalMs: 500 };
/**
 * Reads the server's configuration from the gateway in whose pod this program runs; fails unless
 * the answer is 200.
 */
const GET_CONFIGURATION = `
  const [, managementKey, serverId] = process.argv;
  const url = "http://127.0.0.1:8080/api/v1/management/servers/" + serverId + "/configuration";
  const { status } = await fetch(url, { headers: { authorization: "Management " + managementKey } });
  if (status !== 200) throw new Error("the gateway answered " + status);`;
/** Every component whose pod is deleted once under traffic. */
const DELETED = [
  "gateway",
  "stream",
  "metrics",
  "account",
  "finance",
  "command-status",
  "organization",
  "webhooks",
  "trading-simulator",
];

const repository = process.env["KAPI_REPOSITORY"] ?? "kapi";
const tag = process.env["KAPI_TAG"] ?? "";
const nextTag = process.env["KAPI_NEXT_TAG"] ?? "";
const load = {
  mutations: Number(process.env["CLUSTER_MUTATIONS"] ?? 10),
  reads: Number(process.env["CLUSTER_READS"] ?? 10),
};

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Does one step and prints its duration. */
async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const beganMs = performance.now();
  const result = await work();
  say(`  ✓ ${what}  ${((performance.now() - beganMs) / 1_000).toFixed(1)} s`);
  return result;
}

async function main(): Promise<void> {
  if (tag === "" || nextTag === "") throw new Error("set KAPI_TAG and KAPI_NEXT_TAG to tags of the images");
  const cluster = new Cluster(`kapi-test-${Date.now().toString(36)}`);
  const [first = "", second] = await cluster.nodes();
  if (second === undefined) throw new Error("the cluster must have at least two nodes: one of them is drained");
  const dnsNodes = await cluster.dnsNodes();
  if (dnsNodes.length > 0 && dnsNodes.every((node) => node === second))
    throw new Error(
      `the DNS of the cluster runs only on ${second}, which this run drains: service names would then not resolve`,
    );
  await cluster.kubectl("create", "namespace", cluster.namespace);
  try {
    await test(cluster, first, second);
  } finally {
    await cluster.kubectl("uncordon", second);
    if (process.env["KEEP_CLUSTER_NAMESPACE"] !== "on") {
      await cluster.kubectl("delete", "namespace", cluster.namespace, "--wait=false");
    }
  }
}

async function test(cluster: Cluster, first: string, second: string): Promise<void> {
  const violations = new Violations(say);
  const image = ["--set", `image.repository=${repository}`, "--set", "image.pullPolicy=IfNotPresent"];
  const release = ["kapi", path.join(HELM, "kapi"), "-f", VALUES, ...image, "--wait", "--timeout", WAIT];

  await step("Kafka, Redis and PostgreSQL run on nodes that are not drained", async () => {
    // Their data is in their pods, so the pods must not run on the node that is drained later.
    await cluster.kubectl("cordon", second);
    await cluster.apply(readFileSync(path.join(HELM, "quickstart-servers.yaml"), "utf8"));
    for (const server of SERVERS) await cluster.kubectl("rollout", "status", `deploy/${server}`, `--timeout=${WAIT}`);
    await cluster.kubectl("uncordon", second);
  });
  await step("the chart is installed", () => cluster.helm("install", ...release, "--set", `image.tag=${tag}`));
  await step("helm test succeeds", () => cluster.helm("test", "kapi"));
  const address = process.env["KAPI_NODE_ADDRESS"] ?? (await cluster.address(first));
  const demo = await step("an organization, its server and its key are created", () => createDemo(cluster, address));
  await step("every gateway accepts the key", () => untilKnown(cluster, demo));
  const client = new OutsideClient(demo);
  const accounts = await step(`${ACCOUNTS} accounts are open`, () => openAccounts(client));
  await step("a webhook is delivered", () => deliverWebhook(cluster, client, accounts[0] ?? ""));

  const traffic = new Traffic({ client, accounts, random: new RandomSource(1), violations });
  const checkers = createCheckers(demo, accounts, violations);
  for (const checker of checkers) checker.start();
  traffic.start(load);
  /** Does one step under traffic, and prints what the traffic counted during the step. */
  const disturb = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const before = { ...traffic.counts, rejections: traffic.rejections.length };
    await step(what, work);
    await pause(CALM_MS);
    const { mutations, reads, lost } = traffic.counts;
    const rejected = traffic.rejections.length - before.rejections;
    const served = mutations + reads - before.mutations - before.reads;
    say(`      ${served} requests served, ${lost - before.lost} connections lost, ${rejected} asked to retry`);
  };
  await pause(CALM_MS);
  // The simulator has one process, so it is unavailable while its pod is replaced.
  traffic.isServerUnavailable = true;
  await disturb("the chart is upgraded", () => cluster.helm("upgrade", ...release, "--set", `image.tag=${nextTag}`));
  for (const component of DELETED) {
    await disturb(`a pod of ${component} is replaced`, async () => {
      const [pod = ""] = await cluster.podsOf(component);
      await cluster.kubectl("delete", pod);
      await cluster.kubectl("rollout", "status", `deploy/kapi-${component}`, `--timeout=${WAIT}`);
    });
  }
  await disturb("the second node is drained", async () => {
    await cluster.kubectl(
      "drain",
      second,
      "--ignore-daemonsets",
      "--delete-emptydir-data",
      "--force",
      `--timeout=${WAIT}`,
    );
    await cluster.kubectl("wait", "--for=condition=Available", "--all", "deploy", `--timeout=${WAIT}`);
    await cluster.kubectl("uncordon", second);
  });
  await disturb("the release is rolled back", () => cluster.helm("rollback", "kapi", "--wait", "--timeout", WAIT));
  traffic.isServerUnavailable = false;
  await traffic.stop();

  await step("the commands, balances and credits are compared with the requests", async () => {
    const { mutations, exports } = traffic.counts;
    // Plus the deposit of `deliverWebhook`.
    await checkCommands(client, accounts.length + mutations + exports + 1, violations);
    await checkBalances(client, accounts, traffic, violations);
    await checkCredits(client, violations);
  });
  for (const checker of checkers) await checker.stop();
  if (checkers.some(({ counts }) => counts.truncated + counts.gaps > 0))
    violations.add("a replay was truncated or a gap was announced");
  await step("the chart is uninstalled", () =>
    cluster.helm("uninstall", "kapi", "--cascade", "foreground", "--wait", "--timeout", WAIT),
  );
  await step("the objects that are left are compared with the documented ones", async () => {
    const left = await cluster.named("all,configmap,secret,networkpolicy,serviceaccount,pdb,ingress,hpa");
    const unexpected = left.filter(
      (name) => !/^(Secret\/kapi-secrets|NetworkPolicy\/kapi-(topics|migrate-.*)-egress)$/.test(name),
    );
    if (unexpected.length > 0) violations.add(`left after uninstall: ${unexpected.join(", ")}`);
  });
  report(traffic, checkers, violations);
}

/** Clients of the live stream that reconnect after each close, and verify every message. */
function createCheckers(demo: Demo, accounts: readonly string[], violations: Violations): Checker[] {
  const ledger = new SampleLedger(violations);
  const { managementKey, serverId, wsBase } = demo;
  return Array.from({ length: SOCKETS }, (_, index) => {
    const random = new RandomSource(index);
    const name = `socket ${index}`;
    return new Checker({ name, managementKey, serverId, accounts, address: () => wsBase, violations, ledger, random });
  });
}

function report(traffic: Traffic, checkers: readonly Checker[], violations: Violations): void {
  const { mutations, exports, reads, lost, waited, slowestMs } = traffic.counts;
  const sum = (of: (counts: Checker["counts"]) => number): number =>
    checkers.reduce((total, { counts }) => total + of(counts), 0);
  say(`
requests    ${mutations} mutations, ${exports} exports, ${reads} reads; the slowest mutation took ${Math.round(slowestMs)} ms
first try   ${lost} connections lost, ${traffic.rejections.length} answered with Retry-After
            ${waited} reads answered with Retry-After while the trading server was replaced
sockets     ${sum(({ connections }) => connections)} connections, ${sum(({ samples }) => samples)} samples
violations  ${violations.count}
${violations.count === 0 ? 1 : 0} passed, ${violations.count === 0 ? 0 : 1} failed`);
  process.exitCode = violations.count === 0 ? 0 : 1;
}

async function createDemo(cluster: Cluster, address: string): Promise<Demo> {
  const outside = readFileSync(path.join(import.meta.dirname, "outside.yaml"), "utf8");
  await cluster.apply(outside.replace("IMAGE", `${repository}/gateway:${tag}`));
  await cluster.kubectl("wait", "--for=condition=Ready", "pod/receiver", `--timeout=${WAIT}`);
  const named = await cluster.admin<{ organizationId: string }>(
    "organization",
    "create",
    "--name",
    "Cluster",
    "--credits",
    CREDITS,
  );
  const { organizationId } = named;
  const of = ["--organization", organizationId];
  const server = ["--url", "http://kapi-trading-simulator:8080", "--environment", "demo", "--name", "Kapi-Demo"];
  const more = ["--company", "Kapi Demo Markets", "--leverage", LEVERAGES, "--default-leverage", "100"];
  const { serverId } = await cluster.admin<{ serverId: string }>("server", "create", ...of, ...server, ...more);
  const { managementKey } = await cluster.admin<{ managementKey: string }>("key", "create", ...of, "--all-scopes");
  return {
    baseUrl: `http://${address}:${await cluster.nodePort("outside-api")}`,
    wsBase: `ws://${address}:${await cluster.nodePort("outside-live")}`,
    tradingServerUrl: "http://kapi-trading-simulator:8080",
    organizationId,
    serverId,
    managementKey,
  };
}

/** Waits until every gateway knows the key and the server: they reach each gateway separately. */
async function untilKnown(cluster: Cluster, { managementKey, serverId }: Demo): Promise<void> {
  for (const pod of await cluster.podsOf("gateway"))
    await eventually(
      () => cluster.kubectl("exec", pod, "--", "node", "--eval", GET_CONFIGURATION, managementKey, serverId),
      WAITING,
    );
}

async function openAccounts(client: OutsideClient): Promise<string[]> {
  const accounts: string[] = [];
  for (let index = 0; index < ACCOUNTS; index += 1) accounts.push(await client.openAccount(INITIAL_BALANCE));
  return accounts;
}

interface Deliveries {
  readonly deliveries: readonly { readonly status: string }[];
}

/** Creates an endpoint, makes a deposit, and waits for the delivery of its event. */
async function deliverWebhook(cluster: Cluster, client: OutsideClient, account: string): Promise<void> {
  const created = await client.call<{ endpoint: { id: string } }>("POST", "/webhooks", {
    // The full DNS name, because the webhooks service does not use the cluster's search domains.
    body: { url: `http://receiver.${cluster.namespace}.svc.cluster.local:8080/`, kinds: ["transaction.recorded"] },
  });
  if (created.status !== 201)
    throw new Error(`the request to create an endpoint was answered ${created.status} ${JSON.stringify(created.body)}`);
  const queued = await client.deposit(account, { amount: 1, requestId: "webhook" });
  await client.succeeded(queued.body.command.id);
  const query = `/webhooks/${created.body.endpoint.id}/deliveries?type=transaction.recorded`;
  await eventually(async () => {
    const { body } = await client.call<Deliveries>("GET", query);
    return body.deliveries.some(({ status }) => status === "succeeded");
  }, WAITING);
}

/**
 * Compares each balance with the accepted requests. The first account also has the deposit of
 * `deliverWebhook`.
 */
async function checkBalances(
  client: OutsideClient,
  accounts: readonly string[],
  traffic: Traffic,
  violations: Violations,
): Promise<void> {
  for (const [index, account] of accounts.entries()) {
    const moved = traffic.moved.filter(({ accountNumber }) => accountNumber === account);
    const expected = moved.reduce(
      (minor, one) => minor + one.amountMinor,
      (INITIAL_BALANCE + (index === 0 ? 1 : 0)) * 100,
    );
    let balance = 0;
    await eventually(async () => {
      balance = Math.round((await client.account(account)).balance * 100);
      return balance === expected;
    }, WAITING).catch(() => violations.add(`account ${account} has ${balance} cents, not ${expected}`));
  }
}

await main();
