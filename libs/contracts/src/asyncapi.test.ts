import specifications from "@asyncapi/specs";
import { Ajv, type AnySchema } from "ajv";
import { describe, expect, it } from "vitest";
import { z } from "zod";

import { asyncApiDocument, LIVE_MESSAGES } from "./asyncapi.ts";
import { handshakeAnswers } from "./asyncapi/handshake.ts";
import type { LiveMessage } from "./asyncapi/messages.ts";
import type { JsonSchema } from "./openapi/schemas.ts";
import { DEFAULT_PRICES } from "./prices.ts";
import * as frames from "./live/frames.ts";

const document = asyncApiDocument();
const channel = document.channels["liveMetrics"] ?? {};
const messages = Object.entries<LiveMessage>(LIVE_MESSAGES);
const examples = messages.flatMap(([id, { schema, examples }]) =>
  examples.map(({ name, payload }) => [id, name, schema, payload] as const),
);

/** Compiles a schema in AsyncAPI's dialect, JSON Schema draft 7. Formats are not checked. */
function validator(schema: AnySchema) {
  return new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
}

describe("the AsyncAPI document", () => {
  it("equals the checked-in copy, which `npm run openapi` writes", async () => {
    const text = `${JSON.stringify(document, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot("../../../docs/reference/asyncapi.json");
  });

  it("is AsyncAPI 3.0, by the specification's own schema", () => {
    const valid = validator(specifications.schemasWithoutId["3.0.0"] as AnySchema);
    expect(valid(document) ? [] : valid.errors).toEqual([]);
    // The schema rejects an invalid document, so the check above is effective.
    expect(valid({ ...document, operations: { receive: { action: "listen" } } })).toBe(false);
  });

  it("has every frame of the contract, with its sender", () => {
    const union: unknown = frames.ClientMessage;
    const ofContract = Object.values(frames).filter((value) => value instanceof z.ZodType && value !== union);
    const described = new Set<unknown>(messages.map(([, { schema }]) => schema));
    expect(ofContract.filter((schema) => !described.has(schema))).toEqual([]);
    const fromClient = messages.filter(([, message]) => message.from === "client" && message.name !== "ping");
    expect(fromClient.map(([, { schema }]) => schema)).toEqual(frames.ClientMessage.options);
  });

  it("names every message by its `type` on the wire", () => {
    for (const [id, { name, examples }] of messages) {
      const types = examples.map(({ payload }) => (payload as { type?: string }).type ?? payload);
      expect(new Set(types), id).toEqual(new Set([name]));
    }
  });

  it.each(examples)("has for %s the example %s, which the contract accepts unchanged", (id, _name, schema, payload) => {
    expect(schema.parse(payload)).toEqual(payload);
    const valid = validator(document.components.schemas[id] as AnySchema);
    expect(valid(payload) ? [] : valid.errors).toEqual([]);
  });

  it("describes every message, every field, and the body of a rejected handshake", () => {
    const bodies = handshakeAnswers().flatMap(({ status, body }) =>
      body === undefined ? [] : [[String(status), (body as { schema: JsonSchema }).schema] as const],
    );
    expect(bodies.length).toBeGreaterThan(0);
    for (const [id, schema] of [...Object.entries(document.components.schemas), ...bodies]) {
      expect(schema["description"], id).toBeTruthy();
      for (const [name, field] of Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>)) {
        expect(field["description"], `${id}.${name}`).toBeTruthy();
      }
    }
  });

  it("marks every amount of money of a sample, and nothing else", () => {
    const fields = Object.entries(document.components.schemas["sample"]?.["properties"] as Record<string, JsonSchema>);
    const marked = fields.filter(([, field]) => field["x-kapi-unit"] === "money").map(([name]) => name);
    expect(marked).toEqual(["balance", "equity", "margin", "freeMargin", "intervalMinimumEquity"]);
  });

  it("has every error code with an example, and every close code", () => {
    const shown = LIVE_MESSAGES.error.examples.map(({ payload }) => payload.code);
    expect(new Set(shown)).toEqual(new Set(frames.LIVE_ERROR_CODES));
    expect(Object.keys(channel["x-error-codes"] as object)).toEqual(frames.LIVE_ERROR_CODES);
    const closeCodes = (channel["x-close-codes"] as { code: number; description: string }[]).map(({ code }) => code);
    expect(closeCodes).toEqual(Object.values(frames.LIVE_CLOSE_CODES));
  });

  it("has the answers of the handshake with their bodies", () => {
    const statuses = handshakeAnswers().map(({ status }) => status);
    expect(statuses).toEqual(expect.arrayContaining([101, 401, 402, 403, 500]));
    const text = JSON.stringify(channel["x-handshake-answers"]);
    for (const body of ["Missing API scope: metrics:read", "Insufficient API credits", "Too many live connections"]) {
      expect(text).toContain(body);
    }
    expect(text).not.toContain("<scope>");
    for (const { status, headers } of handshakeAnswers()) {
      const shown = { description: expect.any(String) as string, schema: expect.anything() as object };
      for (const name of ["X-Request-Id", "X-Credits-Charged"]) {
        expect(headers, String(status)).toHaveProperty(name, { required: true, ...shown });
      }
      expect(headers, String(status)).toHaveProperty("X-Credits-Remaining", shown);
    }
    expect((document["info"] as { description: string }).description).toContain(
      `costs ${DEFAULT_PRICES.liveConnection} credit `,
    );
  });

  it("has no broken references", () => {
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
    for (const [, pointer = ""] of references) {
      const found = pointer.split("/").reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], document);
      expect(found, pointer).toBeDefined();
    }
  });
});
