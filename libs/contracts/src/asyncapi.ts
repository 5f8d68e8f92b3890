/**
 * The AsyncAPI 3.0 document of the live stream. It is generated from the schemas that validate the
 * stream's messages. The checked-in copy is `docs/reference/asyncapi.json`; the page for people is
 * `docs/live-metrics.md`.
 */
import { HANDSHAKE_HEADERS, handshakeAnswers } from "./asyncapi/handshake.ts";
import { LIVE_LIMITS } from "./asyncapi/limits.ts";
import { LIVE_MESSAGES, type LiveMessage } from "./asyncapi/messages.ts";
import { messageSchema } from "./asyncapi/schemas.ts";
import { CHANNEL_TEXT, CLOSE_CODE_TEXTS, ERROR_CODE_TEXTS, INTRODUCTION, SECURITY_TEXT } from "./asyncapi/texts.ts";
import { LIVE_CLOSE_CODES } from "./live/frames.ts";
import type { JsonSchema } from "./openapi/schemas.ts";
import { LIVE_METRICS_PATH } from "./operations.ts";
import { INTERFACE_VERSION } from "./version.ts";

export { LIVE_LIMITS } from "./asyncapi/limits.ts";
export { LIVE_MESSAGES } from "./asyncapi/messages.ts";

const SECURITY_SCHEME = "managementKey";
const CHANNEL = "liveMetrics";
/** Version of AsyncAPI's WebSocket binding. */
const BINDING_VERSION = "0.1.0";

/** An AsyncAPI 3.0 document. Only fields that code reads are typed. */
export interface AsyncApiDocument {
  readonly asyncapi: string;
  readonly channels: Readonly<Record<string, JsonSchema>>;
  readonly operations: Readonly<Record<string, JsonSchema>>;
  readonly components: Readonly<
    Record<"securitySchemes" | "messages" | "schemas", Readonly<Record<string, JsonSchema>>>
  >;
  readonly [field: string]: unknown;
}

const messages = Object.entries<LiveMessage>(LIVE_MESSAGES);

/** Returns the document, which is always the same. */
export function asyncApiDocument(): AsyncApiDocument {
  return {
    asyncapi: "3.0.0",
    info: { title: "Live account metrics", version: INTERFACE_VERSION, description: INTRODUCTION },
    defaultContentType: "application/json",
    servers: {
      live: {
        host: "{host}",
        protocol: "wss",
        description: "Where your operator serves the live stream.",
        variables: { host: { default: "kapi.example", description: "Host, and port where it is not 443." } },
        security: [{ $ref: `#/components/securitySchemes/${SECURITY_SCHEME}` }],
      },
    },
    channels: { [CHANNEL]: describeChannel() },
    operations: Object.fromEntries(messages.map(([id, message]) => [operationId(id, message), operation(id, message)])),
    components: {
      securitySchemes: {
        [SECURITY_SCHEME]: { type: "httpApiKey", in: "header", name: "Authorization", description: SECURITY_TEXT },
      },
      messages: Object.fromEntries(messages.map(([id, message]) => [id, describeMessage(id, message)])),
      schemas: Object.fromEntries(messages.map(([id, message]) => [id, payloadSchema(message)])),
    },
  };
}

function describeChannel(): JsonSchema {
  return {
    address: LIVE_METRICS_PATH,
    title: "Live metrics",
    description: CHANNEL_TEXT,
    servers: [{ $ref: "#/servers/live" }],
    messages: Object.fromEntries(messages.map(([id]) => [id, { $ref: `#/components/messages/${id}` }])),
    bindings: { ws: { method: "GET", headers: HANDSHAKE_HEADERS, bindingVersion: BINDING_VERSION } },
    "x-handshake-answers": handshakeAnswers(),
    "x-error-codes": ERROR_CODE_TEXTS,
    "x-close-codes": Object.entries(LIVE_CLOSE_CODES).map(([name, code]) => ({
      code,
      name,
      description: CLOSE_CODE_TEXTS[name as keyof typeof LIVE_CLOSE_CODES],
    })),
    "x-limits": LIVE_LIMITS,
  };
}

/** receiveSubscribe, sendSample, … */
function operationId(id: string, { from }: LiveMessage): string {
  return `${from === "client" ? "receive" : "send"}${id.charAt(0).toUpperCase()}${id.slice(1)}`;
}

function operation(id: string, { from, title, text, replies }: LiveMessage): JsonSchema {
  return {
    action: from === "client" ? "receive" : "send",
    channel: { $ref: `#/channels/${CHANNEL}` },
    title,
    description: text,
    messages: [channelMessage(id)],
    ...(replies === undefined
      ? {}
      : { reply: { channel: { $ref: `#/channels/${CHANNEL}` }, messages: replies.map(channelMessage) } }),
  };
}

function channelMessage(id: string): JsonSchema {
  return { $ref: `#/channels/${CHANNEL}/messages/${id}` };
}

function describeMessage(id: string, message: LiveMessage): JsonSchema {
  const { name, title, text, examples } = message;
  return {
    name,
    title,
    description: text,
    contentType: isText(message) ? "text/plain" : "application/json",
    payload: { $ref: `#/components/schemas/${id}` },
    examples,
  };
}

function payloadSchema(message: LiveMessage): JsonSchema {
  const schema = isText(message)
    ? { type: "string", const: message.name }
    : messageSchema(message.schema, message.from);
  return { description: message.text, ...schema };
}

/** Whether the message is plain text instead of JSON. */
function isText({ schema }: LiveMessage): boolean {
  return schema.type === "literal";
}
