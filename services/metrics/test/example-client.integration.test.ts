/**
 * Runs the client of `docs/examples` as its own process against a metrics process, over a
 * connection that is cut. The client reconciles with two routes of the gateway. The first request
 * to these routes fails; later requests get the example responses of the
 * OpenAPI document.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { AccountDetailsAnswer, type AccountMetricsFrame, PositionsAnswer } from "@kapi/contracts";
import { openApiDocument } from "@kapi/contracts/openapi";
import { createHttpServer, startListening } from "@kapi/http";
import { createLogger, Health, type Started } from "@kapi/runtime";
import { eventually, keyEntry, TcpProxy } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { type MetricsProcess, Harness } from "./harness.ts";

const EXAMPLE = path.resolve(import.meta.dirname, "../../../docs/examples/live-metrics-client.ts");
const ACCOUNT_PATH = "/api/v1/management/servers/:serverId/accounts/:accountNumber";
/** Long, because the client waits some seconds before it reconnects after a long cut. */
const RECONNECTED_TIMEOUT_MS = 30_000;

/** A line of the client's journal. */
interface Entry {
  readonly sequence: number;
  readonly sample?: AccountMetricsFrame;
  readonly reconciled?: { readonly account: object; readonly open: readonly object[] };
}

let harness: Harness;
let metrics: MetricsProcess;
let proxy: TcpProxy;
let gatewayUrl: string;
const asked: string[] = [];
const folder = mkdtempSync(path.join(tmpdir(), "kapi-example-"));
const clients = new Set<ChildProcess>();

beforeAll(async () => {
  harness = await Harness.start();
  metrics = await harness.metrics();
  proxy = await harness.scope.start("proxy", async () => {
    const value = await TcpProxy.open({ host: "127.0.0.1", port: Number(new URL(metrics.url).port) });
    return { value, stop: () => value.close() };
  });
  gatewayUrl = await harness.scope.start("gateway's two routes", startGatewayRoutes);
});

afterAll(async () => {
  for (const client of clients) client.kill("SIGKILL");
  await harness.scope.stop();
  rmSync(folder, { recursive: true });
});

it("the example client gets every sample once, despite cut connections and its own restart, and reads the account again if samples are no longer kept", async () => {
  const account = harness.account();
  await harness.value(account, [100_000]);
  await sampleIs(account, 1);
  const client = run(account, harness.managementKey);
  await seen(account, 1);

  await harness.value(account, range(100_001, 100_010));
  await seen(account, 11);
  await proxy.refuse();
  await harness.value(account, range(100_011, 100_020));
  await proxy.pass();
  await seen(account, 21);

  client.kill("SIGKILL");
  await once(client, "exit");
  await harness.value(account, range(100_021, 100_030));
  run(account, harness.managementKey);
  await seen(account, 31);
  expect(journal(account).map(({ sequence }) => sequence)).toEqual(range(1, 31));
  expect(asked).toEqual([]);

  await proxy.refuse();
  await harness.value(account, range(200_001, 200_350));
  await sampleIs(account, 381);
  await proxy.pass();
  await seen(account, 381);
  const [reconciled, ...after] = journal(account).slice(31);
  expect(reconciled).toMatchObject({ sequence: 81, reconciled: { account: { openPositionCount: 1 }, open: [{}] } });
  expect(after.map(({ sample }) => sample?.sequence)).toEqual(range(82, 381));
  const shown = ACCOUNT_PATH.replace(":serverId", harness.serverId).replace(":accountNumber", account);
  // After the failed first request the client reconnects. The replay notice of the new connection
  // starts the requests again.
  expect(asked).toEqual([shown, shown, `${shown}/positions?status=open&limit=100&page=1`]);
  expect(readFileSync(journalOf(account), "utf8")).not.toContain("tradingPasswordSet");
});

it("the example client ends when its key is revoked, and does not reconnect", async () => {
  const key = keyEntry({ organizationId: harness.organizationId });
  await harness.putDirectory(key.entry);
  const account = harness.account();
  await harness.value(account, [1]);
  const client = run(account, key.managementKey);
  const ended = once(client, "exit");
  await seen(account, 1);
  await harness.putDirectory({ ...key.entry, version: 2, status: "revoked" });
  expect(await ended).toEqual([1, null]);
  expect(await once(run(account, key.managementKey), "exit")).toEqual([1, null]);
});

function run(account: string, managementKey: string): ChildProcess {
  const client = spawn(process.execPath, [EXAMPLE, `${harness.serverId}/${account}`], {
    env: {
      ...process.env,
      KAPI_URL: gatewayUrl,
      KAPI_LIVE_URL: `ws://${proxy.address}`,
      KAPI_KEY: managementKey,
      JOURNAL: journalOf(account),
    },
    stdio: "ignore",
  });
  clients.add(client);
  return client;
}

function journalOf(account: string): string {
  return path.join(folder, `${account}.jsonl`);
}

function journal(account: string): Entry[] {
  if (!existsSync(journalOf(account))) return [];
  const lines = readFileSync(journalOf(account), "utf8").split("\n");
  return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as Entry);
}

/** Waits until the sample of this sequence is the last entry of the journal. */
async function seen(account: string, sequence: number): Promise<void> {
  await eventually(() => expect(journal(account).at(-1)?.sample?.sequence).toBe(sequence), {
    timeoutMs: RECONNECTED_TIMEOUT_MS,
  });
}

/** Waits until the sample of this sequence is the account's latest in the metrics process. */
async function sampleIs(account: string, sequence: number): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${metrics.url}/internal/samples/latest`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-service-token": harness.environment.secrets.serviceTokens.account,
      },
      body: JSON.stringify({ serverId: harness.serverId, accountNumbers: [account] }),
    });
    expect(await answer.json()).toMatchObject({ samples: [{ sequence }] });
  });
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

async function startGatewayRoutes(): Promise<Started<string>> {
  const app = createHttpServer({
    logger: createLogger({ service: "metrics-test", level: "error" }),
    health: new Health(),
  });
  const answers = {
    [ACCOUNT_PATH]: AccountDetailsAnswer.parse(exampleOf(ACCOUNT_PATH)),
    [`${ACCOUNT_PATH}/positions`]: PositionsAnswer.parse(exampleOf(`${ACCOUNT_PATH}/positions`)),
  };
  for (const [route, answer] of Object.entries(answers)) {
    app.get(route, (request, reply) => {
      expect(request.headers.authorization).toBe(`Management ${harness.managementKey}`);
      return asked.push(request.url) === 1 ? reply.code(500).send({ error: "Internal server error" }) : answer;
    });
  }
  const { value, stop } = await startListening(app, { host: "127.0.0.1", port: 0 });
  return { value: value.url, stop };
}

/** The example response of a GET in the OpenAPI document. */
function exampleOf(route: string): unknown {
  const method = openApiDocument().paths[route.replaceAll(/:(\w+)/g, "{$1}")]?.["get"];
  const { responses } = method as { responses: Record<string, { content: Record<string, { example: unknown }> }> };
  return responses["200"]?.content["application/json"]?.example;
}
