/**
 * One trace id follows a deposit through every process that handles the deposit, as a trace
 * collector sees it. Every process serves its metrics to Prometheus.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";

import { TOPICS } from "@kapi/contracts";
import { createKafka, startProducer } from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type EnvelopeView, OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { type ReceivedSpan, startTraceReceiver, type TraceReceiver } from "./trace-receiver.ts";
import { TradingControl } from "./trading-control.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

/** The trace of the caller; the caller's span is its root. */
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN = "b7ad6b7169203331";
const DEPOSITS = "POST /api/v1/management/servers/:serverId/accounts/:accountNumber/finance/deposits";

/**
 * Spans that the trace of a deposit must have: service, kind and name. The parent of a span is the
 * nearest span above it with a smaller depth.
 */
const EXPECTED: readonly (readonly [depth: number, service: string, kind: string, name: string])[] = [
  [0, "gateway", "server", DEPOSITS],
  [1, "gateway", "client", "POST"],
  [2, "command-status", "server", "POST /internal/commands/lookup"],
  [1, "organization", "consumer", "process usage"],
  [1, "gateway", "producer", "send commands.finance"],
  [2, "command-status", "consumer", "process commands.finance"],
  [2, "finance", "consumer", "process commands.finance"],
  [3, "finance", "internal", "execute finance.deposit"],
  [4, "finance", "client", "POST"],
  [5, "trading-simulator", "server", "POST /v1/servers/:serverId/changes"],
  [4, "trading-simulator", "internal", "change balance"],
  [5, "trading-simulator", "producer", "send trading.events"],
  [6, "account", "consumer", "process trading.events"],
  [7, "account", "internal", "book balance.changed"],
  [4, "finance", "producer", "send finance.events"],
  [5, "webhooks", "consumer", "process finance.events"],
  [6, "webhooks", "client", "deliver webhook"],
  [4, "finance", "producer", "send command.events"],
  [5, "command-status", "consumer", "process command.events"],
  [5, "organization", "consumer", "process command.events"],
];

const BOOKED =
  /finance: (?:internal execute finance\.deposit|consumer process trading\.events) > finance: internal book balance\.changed$/;

let receiver: TraceReceiver;
let backend: WebhookReceiver;
let system: RunningSystem;
let client: OutsideClient;
let accountNumber: string;
let deposits = 0;

beforeAll(async () => {
  receiver = await startTraceReceiver();
  backend = await WebhookReceiver.start();
  system = await startSystem(
    {
      all: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_BSP_SCHEDULE_DELAY: "200",
        METRICS: "on",
        KAFKA_SESSION_TIMEOUT_MS: "6000",
      },
    },
    { together: false },
  );
  client = new OutsideClient(system.demo);
  accountNumber = await client.openAccount(100);
  const added = await client.call("POST", "/webhooks", { body: { url: backend.url } });
  expect(added.status).toBe(201);
});

afterAll(async () => {
  await system.stop();
  await backend.stop();
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
  it("is one trace from the caller's request to the last reader, with every span below its cause", async () => {
    const commandId = await deposit(`00-${TRACE_ID}-${CALLER_SPAN}-01`);
    await client.succeeded(commandId);
    const ofTrace = (): ReceivedSpan[] => receiver.spans.filter(({ traceId }) => traceId === TRACE_ID);
    await eventually(() => {
      const paths = new Set(pathsOf(ofTrace()));
      expect(EXPECTED.map(pathOf).filter((one) => !paths.has(one))).toEqual([]);
      // The trading server's answer and the topic both have the event. Finance books the event from
      // the one that it reads first.
      expect([...paths].filter((one) => BOOKED.test(one))).not.toEqual([]);
    });
    // Every parent is in the trace, or is the caller's span.
    const known = new Set([CALLER_SPAN, ...ofTrace().map(({ spanId }) => spanId)]);
    expect(ofTrace().filter(({ parentId }) => !known.has(parentId))).toEqual([]);
    const attempt = ofTrace().find(({ name }) => name === "execute finance.deposit");
    expect(attempt?.attributes).toMatchObject({ "kapi.command.id": commandId, "kapi.command.attempt": "1" });
    // `traceparent` of a webhook names the span of its delivery. So the backend's spans join the
    // trace below this span.
    const delivery = ofTrace().find(({ name }) => name === "deliver webhook");
    const given = backend.ofType("transaction.recorded").map(({ headers }) => headers["traceparent"]);
    expect(given).toContain(`00-${TRACE_ID}-${delivery?.spanId}-01`);
  });
});

describe("an unreadable record", () => {
  it("goes to the dead letters, with a span in the trace of the record, and is counted", async () => {
    const traceId = "3".repeat(32);
    await publishUnreadableEvent(`00-${traceId}-${CALLER_SPAN}-01`);
    await eventually(() =>
      expect(pathsOf(receiver.spans.filter((span) => span.traceId === traceId))).toContain(
        "webhooks: consumer process finance.events > webhooks: producer send dead-letter",
      ),
    );
    const counted = 'kafka_dead_letters_total{group="webhooks.facts",topic="finance.events"}';
    await eventually(async () => expect(valuesOf(await scrape("webhooks"), counted)).toEqual(["1"]));
  });
});

/** The lines of a process's log that belong to a trace. */
function logged(service: string, traceId: string): Readonly<Record<string, unknown>>[] {
  const file = path.join(`${system.stack.environment.stateDir}-stack`, "logs", `${service}.log`);
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter((line) => line["trace_id"] === traceId);
}

describe("the log", () => {
  it("has the caller's trace id: in finance with the command id, and in account with the caller's request id", async () => {
    const control = new TradingControl(system.demo);
    const traceId = "2".repeat(32);
    const requestId = `caller-${randomUUID()}`;
    await control.inject({ kind: "unreachable", operation: "deposit", accountNumber, count: 1 });
    const commandId = await deposit(`00-${traceId}-${CALLER_SPAN}-01`);
    await client.succeeded(commandId);
    await eventually(() => expect(logged("finance", traceId)).toContainEqual(expect.objectContaining({ commandId })));

    await control.inject({ kind: "unreachable", operation: "snapshot", accountNumber, count: 1 });
    const details = `${system.demo.baseUrl}/api/v1/management${client.server(`/accounts/${accountNumber}`)}`;
    const authorization = `Management ${system.demo.managementKey}`;
    const traceparent = `00-${traceId}-${CALLER_SPAN}-01`;
    const answer = await fetch(details, { headers: { authorization, traceparent, "x-request-id": requestId } });
    expect(answer.status).toBe(200);
    await eventually(() => expect(logged("account", traceId)).toContainEqual(expect.objectContaining({ requestId })));
  });
});

/** Metrics of every process. */
const EVERYWHERE = ["process_memory_usage", "process_uptime", "nodejs_eventloop_utilization"];
/** Metrics of single services after the deposits. "deposits" is the number of deposits. */
const MEASURED: readonly (readonly [service: string, series: string, value: RegExp | "deposits"])[] = [
  [
    "gateway",
    'http_server_request_duration_count{kapi_operation="depositAccountFunds",http_response_status_code="202"}',
    "deposits",
  ],
  ["gateway", 'http_server_request_duration_bucket{kapi_operation="depositAccountFunds",le="10"}', "deposits"],
  ["gateway", 'gateway_claims_total{outcome="claimed"}', /^[1-9]\d*$/],
  ["gateway", 'kafka_reader_lag{topic="organization.directory"}', /^0$/],
  ["finance", 'commands_duration_count{operation="finance.deposit",status="succeeded"}', "deposits"],
  ["finance", 'kafka_consumer_lag{group="finance",topic="commands.finance"}', /^0$/],
  ["finance", 'commands_inbox_age{worker="finance"}', /^0$/],
  ["finance", 'commands_inbox_overdue{worker="finance"}', /^0$/],
  ["finance", 'commands_outbox_age{worker="finance"}', /^0(\.\d+)?$/],
  ["finance", "trading_server_breaker_open{}", /^0$/],
  ["finance", "trading_events_gaps{}", /^0$/],
  ["finance", 'postgres_pool_waiting{pool="finance"}', /^0$/],
  ["finance", 'postgres_pool_connections{pool="finance",state="idle"}', /^[1-9]\d*$/],
  ["account", 'commands_duration_count{operation="account.create",status="succeeded"}', /^1$/],
  ["account", 'kafka_consumer_lag{group="account.trading-events",topic="trading.events"}', /^0$/],
  ["account", "trading_events_gaps{}", /^0$/],
  ["export", 'commands_inbox_loaded{worker="export"}', /^0$/],
  ["command-status", 'command_status_commands_open{status="queued"}', /^0$/],
  ["command-status", 'command_status_commands_age{status="leased"}', /^0$/],
  ["command-status", 'kafka_consumer_lag{group="command-status.events",topic="command.events"}', /^0$/],
  ["metrics", 'kafka_reader_lag{topic="metrics.samples"}', /^\d+$/],
  ["metrics", "metrics_live_sockets{}", /^1$/],
  ["metrics", "metrics_live_sockets_stalled{}", /^0$/],
  ["metrics", "metrics_live_subscriptions{}", /^1$/],
  ["metrics", "metrics_live_buffered{}", /^0$/],
  ["metrics", 'metrics_live_handshakes_total{status="101"}', /^1$/],
  ["metrics", 'metrics_live_handshakes_total{status="401"}', /^1$/],
  ["metrics", "metrics_valuations_taken_total{}", /^[1-9]\d*$/],
  ["metrics", "metrics_samples_sequenced_total{}", /^[1-9]\d*$/],
  ["metrics", "metrics_partitions_written{}", /^[1-9]\d*$/],
  ["organization", "postgres_pool_waiting{}", /^0$/],
  ["organization", "organization_outbox_age{}", /^0(\.\d+)?$/],
  ["organization", "organization_tags_closed{}", /^0$/],
  ["organization", "organization_usage_recorded_total{}", /^[1-9]\d*$/],
  ["organization", "organization_usage_backlog{}", /^0$/],
  ["organization", "organization_usage_fullest_backlog{}", /^0$/],
  ["organization", "organization_usage_age{}", /^0$/],
  ["trading-simulator", "postgres_pool_waiting{}", /^0$/],
  ["trading-simulator", "trading_server_events_unpublished{}", /^0$/],
  ["webhooks", "webhooks_events_total{}", /^[1-9]\d*$/],
  ["webhooks", 'webhooks_attempts_total{outcome="succeeded"}', /^[1-9]\d*$/],
  ["webhooks", 'webhooks_attempt_duration_count{outcome="succeeded"}', /^[1-9]\d*$/],
  ["webhooks", "webhooks_deliveries_open{}", /^0$/],
];

describe("the metrics of a process", () => {
  it("are served at /metrics in the format of Prometheus", async () => {
    await client.succeeded(await deposit(`00-${"1".repeat(32)}-${CALLER_SPAN}-00`));
    const live = await client.live();
    live.send({ type: "subscribe", serverId: system.demo.serverId, accountNumber });
    await expect(client.withKey("kapi.unknown").live()).rejects.toThrow("401");
    for (const [name] of system.stack.processes) {
      const text = await scrape(name);
      for (const series of EVERYWHERE) expect(text, `${name} serves ${series}`).toContain(`# TYPE ${series} `);
    }
    await eventually(async () => {
      const scrapes = new Map<string, string>();
      for (const service of new Set(MEASURED.map(([one]) => one))) scrapes.set(service, await scrape(service));
      for (const [service, series, value] of MEASURED) {
        const pattern = value === "deposits" ? new RegExp(`^${deposits}$`) : value;
        const found = valuesOf(scrapes.get(service) ?? "", series);
        expect(found, `${service}: ${series}`).toContainEqual(expect.stringMatching(pattern));
      }
    });
    live.close();
  });
});

/** Publishes an unreadable record to finance.events. */
async function publishUnreadableEvent(traceparent: string): Promise<void> {
  const { kafkaBrokers, topicPrefix } = system.stack.environment;
  const logger = createLogger({ service: "one-trace", level: "error" });
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "one-trace", topicPrefix, logger });
  const producer = await startProducer(kafka);
  await producer.value.send(TOPICS.financeEvents, { key: "nobody", value: "no event", headers: { traceparent } });
  await producer.stop();
}

async function scrape(service: string): Promise<string> {
  const answer = await fetch(`${system.stack.url(service)}/metrics`, { signal: AbortSignal.timeout(5_000) });
  expect(answer.headers.get("content-type")).toContain("text/plain; version=0.0.4");
  return answer.text();
}

/** The values of the lines with this name and at least these labels. */
function valuesOf(text: string, series: string): string[] {
  const [name = "", labels = ""] = series.replace("}", "").split("{");
  const wanted = labels === "" ? [] : labels.split(",");
  return text
    .split("\n")
    .filter((line) => [`${name}{`, `${name} `].some((start) => line.startsWith(start)))
    .filter((line) => wanted.every((label) => line.includes(label)))
    .map((line) => line.slice(line.lastIndexOf(" ") + 1));
}

/** The names from the root down to each span, which show that every parent is right. */
function pathsOf(spans: readonly ReceivedSpan[]): string[] {
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
