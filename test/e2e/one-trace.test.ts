/**
 * One deposit, followed through every process by one trace id, as a collector sees it; and what each process measures, as
 * Prometheus reads it.
 */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type EnvelopeView, OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { type ReceivedSpan, startTraceReceiver, type TraceReceiver } from "./trace-receiver.ts";

/** The caller's own span, which the trace hangs under. */
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN = "b7ad6b7169203331";
const DEPOSITS = "POST /api/v1/management/servers/:serverId/accounts/:accountNumber/finance/deposits";

/** Every span that a deposit must leave: service, kind and name, below the one that it must stand under. */
const EXPECTED: readonly (readonly [depth: number, service: string, kind: string, name: string])[] = [
  [0, "gateway", "server", DEPOSITS],
  [1, "gateway", "client", "POST"],
  [2, "command-status", "server", "POST /internal/commands/lookup"],
  [1, "gateway", "producer", "send commands.finance"],
  [2, "command-status", "consumer", "process commands.finance"],
  [2, "finance", "consumer", "process commands.finance"],
  [3, "finance", "internal", "execute finance.deposit"],
  [4, "finance", "client", "POST"],
  [5, "trading-server", "server", "POST /v1/servers/:serverId/changes"],
  [4, "trading-server", "internal", "change balance"],
  [5, "trading-server", "producer", "send trading.events"],
  [6, "account", "consumer", "process trading.events"],
  [7, "account", "internal", "book balance.changed"],
  [4, "finance", "internal", "book balance.changed"],
  [4, "finance", "producer", "send finance.events"],
  [4, "finance", "producer", "send command.events"],
  [5, "command-status", "consumer", "process command.events"],
  [5, "organization", "consumer", "process command.events"],
];

let receiver: TraceReceiver;
let system: RunningSystem;
let client: OutsideClient;
let accountNumber: string;
let deposits = 0;

beforeAll(async () => {
  receiver = await startTraceReceiver();
  system = await startSystem({
    all: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "200",
      METRICS: "on",
      KAFKA_SESSION_TIMEOUT_MS: "6000",
    },
  });
  client = new OutsideClient(system.demo);
  accountNumber = await client.openAccount(100);
});

afterAll(async () => {
  await system.stop();
  await receiver.stop();
});

async function deposit(traceparent: string): Promise<string> {
  const path = client.server(`/accounts/${accountNumber}/finance/deposits`);
  const answer = await fetch(`${system.demo.baseUrl}/api/v1/management${path}`, {
    method: "POST",
    headers: {
      authorization: `Management ${system.demo.managementKey}`,
      "content-type": "application/json",
      "idempotency-key": randomUUID(),
      traceparent,
    },
    body: JSON.stringify({ amount: 12.5, requestId: "traced" }),
  });
  expect(answer.status).toBe(202);
  deposits += 1;
  return ((await answer.json()) as EnvelopeView).command.id;
}

describe("a deposit", () => {
  it("is one trace from the caller's request to its last reader, every span under the one that caused it", async () => {
    const commandId = await deposit(`00-${TRACE_ID}-${CALLER_SPAN}-01`);
    await client.succeeded(commandId);
    const ofTrace = (): ReceivedSpan[] => receiver.spans.filter(({ traceId }) => traceId === TRACE_ID);
    await eventually(() => expect(told(ofTrace())).toEqual(expect.arrayContaining(EXPECTED.map(pathOf))));
    // And nothing hangs in the air: every parent is in the trace, or is the caller's.
    const known = new Set([CALLER_SPAN, ...ofTrace().map(({ spanId }) => spanId)]);
    expect(ofTrace().filter(({ parentId }) => !known.has(parentId))).toEqual([]);
    const attempt = ofTrace().find(({ name }) => name === "execute finance.deposit");
    expect(attempt?.attributes).toMatchObject({ "kapi.command.id": commandId, "kapi.command.attempt": "1" });
  });
});

/** What every process tells, and what one of them must tell of the deposit; a value is a pattern, or how many deposits there were. */
const EVERYWHERE = ["process_memory_usage", "nodejs_eventloop_utilization"];
const MEASURED: readonly (readonly [service: string, series: string, value: RegExp | "deposits"])[] = [
  [
    "gateway",
    'http_server_request_duration_count{kapi_operation="depositAccountFunds",http_response_status_code="202"}',
    "deposits",
  ],
  ["gateway", 'http_server_request_duration_bucket{kapi_operation="depositAccountFunds",le="10"}', "deposits"],
  ["gateway", 'kafka_reader_lag{topic="organization.directory"}', /^0$/],
  ["finance", 'commands_duration_count{operation="finance.deposit",status="succeeded"}', "deposits"],
  ["finance", 'kafka_consumer_lag{group="finance",topic="commands.finance"}', /^0$/],
  ["finance", 'commands_inbox_age{worker="finance"}', /^0$/],
  ["finance", 'commands_outbox_age{worker="finance"}', /^0(\.\d+)?$/],
  ["finance", "trading_server_breaker_open{}", /^0$/],
  ["finance", 'postgres_pool_waiting{pool="finance"}', /^0$/],
  ["finance", 'postgres_pool_connections{pool="finance",state="idle"}', /^[1-9]\d*$/],
  ["account", 'commands_duration_count{operation="account.create",status="succeeded"}', /^1$/],
  ["account", 'kafka_consumer_lag{group="account.trading-events",topic="trading.events"}', /^0$/],
  ["export", 'commands_inbox_loaded{worker="export"}', /^0$/],
  ["command-status", 'command_status_commands_open{status="queued"}', /^0$/],
  ["command-status", 'command_status_commands_age{status="leased"}', /^0$/],
  ["command-status", 'kafka_consumer_lag{group="command-status.events",topic="command.events"}', /^0$/],
  ["metrics", 'kafka_reader_lag{topic="metrics.samples"}', /^\d+$/],
  ["organization", "postgres_pool_waiting{}", /^0$/],
  ["trading-server", "postgres_pool_waiting{}", /^0$/],
];

describe("what a process measures", () => {
  it("is read by Prometheus at /metrics of each", async () => {
    await client.succeeded(await deposit(`00-${"1".repeat(32)}-${CALLER_SPAN}-00`));
    for (const [name] of system.stack.processes) {
      const text = await scrape(name);
      for (const series of EVERYWHERE) expect(text, `${name} tells ${series}`).toContain(`# TYPE ${series} `);
    }
    await eventually(async () => {
      const scrapes = new Map<string, string>();
      for (const service of new Set(MEASURED.map(([one]) => one))) scrapes.set(service, await scrape(service));
      for (const [service, series, value] of MEASURED) {
        const pattern = value === "deposits" ? new RegExp(`^${deposits}$`) : value;
        const told = valuesOf(scrapes.get(service) ?? "", series);
        expect(told, `${service}: ${series}`).toContainEqual(expect.stringMatching(pattern));
      }
    });
  });
});

async function scrape(service: string): Promise<string> {
  const answer = await fetch(`${system.stack.url(service)}/metrics`, { signal: AbortSignal.timeout(5_000) });
  expect(answer.headers.get("content-type")).toContain("text/plain; version=0.0.4");
  return answer.text();
}

/** The values of the lines with this name and, among others, these labels. */
function valuesOf(text: string, series: string): string[] {
  const [name = "", labels = ""] = series.replace("}", "").split("{");
  const wanted = labels === "" ? [] : labels.split(",");
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) && wanted.every((label) => line.includes(label)))
    .map((line) => line.slice(line.lastIndexOf(" ") + 1));
}

/** The names from the root down to the span: what shows that every parent is right. */
function told(spans: readonly ReceivedSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const nameOf = (span: ReceivedSpan): string => {
    const parent = byId.get(span.parentId);
    const own = `${span.service}: ${span.kind} ${span.name}`;
    return parent === undefined ? own : `${nameOf(parent)} > ${own}`;
  };
  return spans.map(nameOf);
}

function pathOf(_line: (typeof EXPECTED)[number], index: number): string {
  const names: string[] = [];
  let depth = Number.POSITIVE_INFINITY;
  for (const [at, service, kind, name] of EXPECTED.slice(0, index + 1).toReversed()) {
    if (at >= depth) continue;
    names.unshift(`${service}: ${kind} ${name}`);
    depth = at;
  }
  return names.join(" > ");
}
