/** A trace collector for tests: accepts OTLP over HTTP as JSON and keeps every span. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

import { z } from "zod";

const Value = z.object({ stringValue: z.string().optional(), intValue: z.union([z.string(), z.number()]).optional() });
const Attributes = z.array(z.object({ key: z.string(), value: Value }));
const Export = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.int(),
              attributes: Attributes.default([]),
            }),
          ),
        }),
      ),
    }),
  ),
});

/** Kinds of spans, by their number in OTLP. */
const KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"];

export interface ReceivedSpan {
  readonly service: string;
  readonly kind: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" for the root span of a trace. */
  readonly parentId: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface TraceReceiver {
  /** Value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The bodies of all requests: everything that the processes sent about their spans. */
  readonly bodies: readonly Buffer[];
  stop(): Promise<void>;
}

/** Starts the collector on a free port. */
export async function startTraceReceiver(): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      bodies.push(body);
      spans.push(...fromWire(JSON.parse(body.toString("utf8"))));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${port}`, spans, bodies, stop };
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function fromWire(body: unknown): ReceivedSpan[] {
  return Export.parse(body).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = toRecord(resource.attributes)["service.name"] ?? "";
    return scopeSpans.flatMap((scope) =>
      scope.spans.map(({ traceId, spanId, parentSpanId = "", name, kind, attributes }) => ({
        service,
        kind: KINDS[kind] ?? "",
        name,
        traceId,
        spanId,
        parentId: parentSpanId,
        attributes: toRecord(attributes),
      })),
    );
  });
}

function toRecord(attributes: z.infer<typeof Attributes>): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? String(value.intValue ?? "")]),
  );
}
