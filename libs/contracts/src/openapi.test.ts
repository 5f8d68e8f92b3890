import { describe, expect, it } from "vitest";

import { type ErrorBody, ERRORS } from "./errors.ts";
import { type OperationContract, OPERATIONS } from "./operations.ts";
import { RiskLimit } from "./http/risk.ts";
import { RiskTemplateSelection } from "./http/risk-templates.ts";
import { WEBHOOK_KINDS, WebhookEvent } from "./http/webhooks.ts";
import { openApiDocument } from "./openapi.ts";
import { EVENT_EXAMPLES } from "./openapi/event-examples.ts";
import { EXAMPLES } from "./openapi/examples.ts";

const document = openApiDocument();
const operations = Object.entries<OperationContract>(OPERATIONS);
const { schemas } = document["components"] as { schemas: Record<string, { properties: Record<string, unknown> }> };
const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));

describe("the OpenAPI document", () => {
  it("equals the checked-in copy, which `npm run openapi` writes", async () => {
    const text = `${JSON.stringify(document, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot("../../../docs/reference/openapi.json");
  });

  it("describes every operation once, and nothing else", () => {
    expect(described.map((operation) => operation["operationId"])).toEqual(operations.map(([id]) => id));
  });

  it.each(operations)("lists for %s exactly the statuses of the operation, and 429", (id, { success, errors }) => {
    const operation = described.find((candidate) => candidate["operationId"] === id);
    const statuses = Object.keys(operation?.["responses"] as object).map(Number);
    expect(statuses).toEqual([...success, ...errors, 429].sort((a, b) => a - b));
  });

  it.each(operations)(
    "has for %s examples that the schemas accept without dropping a field",
    (id, { body, answer }) => {
      const example = EXAMPLES[id as keyof typeof EXAMPLES] as { body?: unknown; answer: unknown };
      expect(answer.parse(example.answer)).toEqual(example.answer);
      expect(body?.safeParse(example.body).error).toBeUndefined();
      expect(Object.keys(example.body ?? {})).toEqual(Object.keys((body?.parse(example.body) as object) ?? {}));
    },
  );

  it("has `Idempotent-Replayed` in the response to a duplicate: 202 for a bulk, else 200", () => {
    const replayed = described.flatMap(({ operationId, responses }) =>
      Object.entries(responses as Record<string, { headers?: object }>)
        .filter(([, { headers = {} }]) => Object.hasOwn(headers, "Idempotent-Replayed"))
        .map(([status]) => [operationId, status]),
    );
    const queued = operations.filter(([, { idempotencyKey }]) => idempotencyKey);
    expect(replayed).toEqual(queued.map(([id]) => [id, id === "bulkCreateTradingAccounts" ? "202" : "200"]));
  });

  it("describes every kind of event, with an example that the schema accepts without dropping a field", () => {
    expect(Object.keys(document.webhooks)).toEqual([...WEBHOOK_KINDS]);
    for (const kind of WEBHOOK_KINDS) {
      expect(EVENT_EXAMPLES[kind].type).toBe(kind);
      expect(WebhookEvent.parse(EVENT_EXAMPLES[kind])).toEqual(EVENT_EXAMPLES[kind]);
      expect(JSON.stringify(document.webhooks[kind])).toContain(JSON.stringify(EVENT_EXAMPLES[kind]));
    }
    const ids = Object.values(EVENT_EXAMPLES).map(({ data }) => data.eventId);
    expect(new Set(ids).size).toBe(WEBHOOK_KINDS.length);
  });

  it("has examples of events that are one history of an account, numbered as docs/webhooks.md says", () => {
    const numbered = Object.values(EVENT_EXAMPLES)
      .filter(({ data }) => data.accountSequence !== null)
      .toSorted((one, other) => Number(one.data.accountSequence) - Number(other.data.accountSequence));
    const numbers = numbered.map(({ data }) => data.accountSequence);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbered[0]).toMatchObject({ type: "account.created", data: { accountSequence: 1 } });
    expect(numbered.at(-1)?.type).toBe("account.deleted");
    const versions = numbered.flatMap(({ data }) => ("version" in data ? [data.version] : []));
    expect(versions).toEqual(versions.map((_, index) => index + 1));
    const deal = EVENT_EXAMPLES["deal.executed"].data;
    const transaction = EVENT_EXAMPLES["transaction.recorded"].data;
    expect(transaction).toMatchObject({ dealId: deal.id, accountSequence: Number(deal.accountSequence) + 1 });
    expect(EVENT_EXAMPLES["position.closed"].data.accountSequence).toBeGreaterThan(Number(transaction.accountSequence));
  });

  it("has no broken references", () => {
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
    for (const [, pointer = ""] of references) {
      const found = pointer.split("/").reduce<unknown>((at, part) => (at as Record<string, unknown>)?.[part], document);
      expect(found, pointer).toBeDefined();
    }
  });

  it("describes integers of a query as integers, with their bounds and default", () => {
    const usage = described.find((operation) => operation["operationId"] === "listCreditUsage");
    const parameters = usage?.["parameters"] as { name?: string; schema?: object }[];
    expect(parameters.find(({ name }) => name === "limit")?.schema).toEqual({
      type: "integer",
      minimum: 1,
      maximum: 100,
      default: 20,
    });
  });

  it("marks lists that reject repeats as uniqueItems, also the comma-separated kinds of a query", () => {
    for (const [body, name] of [
      ["UpdateServerConfiguration", "supportedLeverage"],
      ["RiskTemplateSelection", "status"],
      ["CreateWebhook", "kinds"],
      ["CreateWebhook", "serverIds"],
      ["UpdateWebhook", "kinds"],
      ["UpdateWebhook", "serverIds"],
      ["ReplayWebhook", "kinds"],
    ] as const) {
      expect(JSON.stringify(schemas[body]?.properties[name]), `${body}.${name}`).toContain('"uniqueItems":true');
    }
    const events = described.find((operation) => operation["operationId"] === "listEvents");
    const parameters = events?.["parameters"] as { name?: string }[];
    // `?kinds=` is an empty list, which is rejected.
    expect(parameters.find(({ name }) => name === "kinds")).toMatchObject({
      style: "form",
      explode: false,
      schema: { type: "array", minItems: 1, maxItems: WEBHOOK_KINDS.length, uniqueItems: true },
    });
  });

  it("says that a limit of a rule and a selection of accounts must not be empty, because kapi rejects empty ones", () => {
    for (const [name, schema] of Object.entries({ RiskLimit, RiskTemplateSelection })) {
      expect(schema.safeParse({}).success).toBe(false);
      expect(schemas[name], name).toMatchObject({ minProperties: 1 });
    }
  });

  it("says the price of every operation, as `1 credit` or `<n> credits`", () => {
    const price = / · \*\*Price:\*\* (1 credit|(?!1 )\d+ credits) /;
    const unreadable = described.filter(({ description }) => !price.test(String(description)));
    expect(unreadable.map(({ operationId }) => operationId)).toEqual([]);
  });

  it("shows in its introduction an error as kapi returns it, with code and requestId", () => {
    const { description } = document["info"] as { description: string };
    const [, example = ""] = /## Errors.*```json\n(.*?)```/s.exec(description) ?? [];
    const error = JSON.parse(example) as ErrorBody;
    expect(Object.keys(error)).toEqual(["error", "code", "requestId", "issues"]);
    expect(ERRORS.VALIDATION_FAILED.text).toBe(error.error);
    expect(error.code).toBe("VALIDATION_FAILED");
  });

  it("says which parameters of a query are required, and has them in the samples", () => {
    const required = described.flatMap((operation) =>
      (operation["parameters"] as { name: string; in?: string; required: boolean }[])
        .filter((parameter) => parameter.in === "query" && parameter.required)
        .map(({ name }) => ({ operation, name })),
    );
    expect(required.map(({ operation, name }) => `${String(operation["operationId"])} ${name}`)).toEqual([
      "listDailyDigests date",
      "getAccountState at",
      "deleteRiskRules requestId",
      "deleteRiskTemplate requestId",
      "deleteRiskTemplate accountRules",
      "getIntervalEvidence from",
      "getIntervalEvidence to",
    ]);
    for (const { operation, name } of required) {
      const samples = operation["x-codeSamples"] as { source: string }[];
      for (const { source } of samples) expect(source).toMatch(new RegExp(`[?&]${name}=`));
    }
  });

  it("gives each operation a curl and a TypeScript sample, with a placeholder for the key", () => {
    for (const operation of described) {
      const samples = operation["x-codeSamples"] as { label: string; source: string }[];
      expect(samples.map(({ label }) => label)).toEqual(["curl", "TypeScript"]);
      for (const { source } of samples) expect(source).toContain("Management kapi.<key_id>.<secret>");
    }
  });
});
