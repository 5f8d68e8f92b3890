/**
 * The OpenAPI 3.1 document of the API. It is generated from the operation table and the schemas
 * that validate requests and answers. The checked-in copy is `docs/reference/openapi.json`.
 */
import { z } from "zod";

import { RiskTemplateName } from "./http/risk-templates.ts";
import { type OperationContract, type OperationGroup, type OperationId, OPERATIONS } from "./operations.ts";
import { codeSamples } from "./openapi/code-samples.ts";
import { deliveryHeaders, webhookSection } from "./openapi/events.ts";
import { EXAMPLE_PARAMETERS, EXAMPLES } from "./openapi/examples.ts";
import {
  ERROR_SCHEMAS,
  errorReference,
  errorResponses,
  headerReferences,
  RESPONSE_HEADERS,
} from "./openapi/responses.ts";
import { type JsonSchema, namedSchemas, parameterSchema, referenceTo } from "./openapi/schemas.ts";
import { GROUP_TEXTS, INTRODUCTION, OPERATION_TEXTS, queryText } from "./openapi/texts.ts";
import { DEFAULT_PRICES } from "./prices.ts";
import { AccountNumber, Guid, IdempotencyKey } from "./values.ts";
import { INTERFACE_VERSION } from "./version.ts";

export { SAMPLE_BASE_URL } from "./openapi/code-samples.ts";

const SECURITY_SCHEME = "managementKey";
const TOO_MANY_REQUESTS = 429;
const ALL_SERVERS_TEXT =
  "This operation concerns all servers of your organization: a key that is limited to some servers gets 403.";

/** An OpenAPI 3.1 document. Only fields that code reads are typed. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
  /** Requests to receivers, by kind of event. */
  readonly webhooks: Readonly<Record<string, JsonSchema>>;
  readonly [field: string]: unknown;
}

/** Builds the document: from the code alone, so every call returns an equal one. */
export function openApiDocument(): OpenApiDocument {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const [id, operation] of Object.entries(OPERATIONS) as [OperationId, OperationContract][]) {
    const path = operation.path.replaceAll(/:(\w+)/g, "{$1}");
    (paths[path] ??= {})[operation.method.toLowerCase()] = describeOperation(id, operation);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Trading account management API", version: INTERFACE_VERSION, description: INTRODUCTION },
    servers: [{ url: "/", description: "This address" }],
    tags: (Object.keys(GROUP_TEXTS) as OperationGroup[]).map((name) => ({ name, description: GROUP_TEXTS[name] })),
    security: [{ [SECURITY_SCHEME]: [] }],
    paths,
    webhooks: webhookSection(),
    components: {
      securitySchemes: {
        [SECURITY_SCHEME]: {
          type: "apiKey",
          in: "header",
          name: "Authorization",
          description: "`Management <API_KEY>`, where the key has the form `kapi.<key_id>.<secret>`.",
        },
      },
      parameters: { ...sharedParameters(), ...deliveryHeaders() },
      headers: RESPONSE_HEADERS,
      responses: errorResponses(),
      schemas: { ...namedSchemas(), ...ERROR_SCHEMAS },
    },
  };
}

function describeOperation(id: OperationId, operation: OperationContract): JsonSchema {
  const example = EXAMPLES[id] as { readonly body?: unknown; readonly answer: unknown };
  const price = DEFAULT_PRICES[operation.price];
  const cost = `${price} credit${price === 1 ? "" : "s"}${operation.price === "bulkItem" ? " for each item" : ""}`;
  const terms = `**Scope:** \`${operation.scope}\` · **Price:** ${cost} unless your operator set another`;
  const text = OPERATION_TEXTS[id];
  return {
    operationId: id,
    tags: [operation.group],
    summary: titleOf(id),
    description: [`${operation.summary}.`, text, operation.allServers && ALL_SERVERS_TEXT, terms]
      .filter((part) => part !== undefined)
      .join("\n\n"),
    parameters: [...pathParameters(operation), ...headerParameters(operation), ...queryParameters(id, operation)],
    ...(operation.body === undefined ? {} : { requestBody: requestBody(operation.body, example.body) }),
    responses: responses(id, operation, example.answer),
    "x-codeSamples": codeSamples(operation, queryOfSample(id), example.body),
  };
}

/** The name of an operation as a title: createTradingAccount → Create trading account. */
function titleOf(id: OperationId): string {
  const words = id.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** An example query of the operation. */
function queryOfSample(id: OperationId): string {
  if (id === "getCommand") return "?wait=20";
  if (id === "listAccountPositions") return "?status=open&limit=1";
  if (id === "getAccountState") return "?at=2026-03-02T12:00:30Z";
  if (id === "deleteRiskRules") return "?requestId=rules-7731";
  if (id === "deleteRiskTemplate") return "?requestId=template-7731&accountRules=keep";
  if (id === "listDailyDigests") return "?date=2026-03-02";
  if (id === "getIntervalEvidence") return "?from=2026-03-02T10:04:00Z&to=2026-03-02T10:05:00Z";
  return "";
}

function requestBody(schema: z.ZodType, example: unknown): JsonSchema {
  return { required: true, content: { "application/json": { schema: referenceTo(schema), example } } };
}

function responses(id: OperationId, operation: OperationContract, example: unknown): JsonSchema {
  const queued = operation.idempotencyKey;
  // A repeated bulk request is answered 202 again, with the command of each item.
  const repeatStatus = operation.success.includes(200) ? 200 : 202;
  const described: [string, JsonSchema][] = operation.success.map((status) => [
    String(status),
    {
      description: successText(operation, status),
      headers: headerReferences(...(queued && status === repeatStatus ? ["Idempotent-Replayed"] : [])),
      content: {
        "application/json": { schema: referenceTo(operation.answer), example: exampleFor(operation, status, example) },
      },
      ...(queued && id !== "bulkCreateTradingAccounts" ? { links: COMMAND_LINK } : {}),
    },
  ]);
  for (const status of [...operation.errors, TOO_MANY_REQUESTS].sort((a, b) => a - b)) {
    described.push([String(status), errorReference(status)]);
  }
  return Object.fromEntries(described);
}

/** Links an answer to the operation that returns the command. */
const COMMAND_LINK = {
  command: { operationId: "getCommand", parameters: { commandId: "$response.body#/command/id" } },
};

function successText(operation: OperationContract, status: number): string {
  if (!operation.idempotencyKey) return status === 202 ? "Accepted. kapi sends the events afterwards." : "Done.";
  return status === 202
    ? "Queued."
    : "The key was used for this request before. The answer has the command as it is now.";
}

/**
 * A replay shows the password of a reset again, but never the passwords of a creation
 * (decisions, 5.1).
 */
function exampleFor(operation: OperationContract, status: number, example: unknown): unknown {
  if (!operation.idempotencyKey || status !== 200) return example;
  const { credentials: _once, ...shown } = example as { credentials?: unknown };
  return { ...shown, duplicate: true };
}

function sharedParameters(): JsonSchema {
  return {
    serverId: {
      name: "serverId",
      in: "path",
      required: true,
      description: "A trading server that your organization owns.",
      schema: parameterSchema(Guid),
      example: EXAMPLE_PARAMETERS.serverId,
    },
    accountNumber: {
      name: "accountNumber",
      in: "path",
      required: true,
      description: "The account's number on its server.",
      schema: parameterSchema(AccountNumber),
      example: EXAMPLE_PARAMETERS.accountNumber,
    },
    commandId: {
      name: "commandId",
      in: "path",
      required: true,
      description: "`command.id` of the answer to the request that queued the command.",
      schema: parameterSchema(z.guid()),
      example: EXAMPLE_PARAMETERS.commandId,
    },
    templateName: {
      name: "templateName",
      in: "path",
      required: true,
      description: "Your name of the template, unique among the risk templates of the server.",
      schema: parameterSchema(RiskTemplateName),
      example: EXAMPLE_PARAMETERS.templateName,
    },
    endpointId: {
      name: "endpointId",
      in: "path",
      required: true,
      description: "A webhook endpoint of your organization.",
      schema: parameterSchema(z.guid()),
      example: EXAMPLE_PARAMETERS.endpointId,
    },
    deliveryId: {
      name: "deliveryId",
      in: "path",
      required: true,
      description: "One of the endpoint's deliveries.",
      schema: parameterSchema(z.guid()),
      example: EXAMPLE_PARAMETERS.deliveryId,
    },
    breachId: {
      name: "breachId",
      in: "path",
      required: true,
      description: "A breach of the account.",
      schema: parameterSchema(z.guid()),
      example: EXAMPLE_PARAMETERS.breachId,
    },
    idempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      required: true,
      description: "One key per change. Repeat it only to retry the same request.",
      schema: parameterSchema(IdempotencyKey),
      example: EXAMPLE_PARAMETERS.idempotencyKey,
    },
    requestId: {
      name: "X-Request-Id",
      in: "header",
      required: false,
      description: "Names this request in your usage and our logs: up to 200 visible ASCII characters.",
      schema: { type: "string" },
      example: EXAMPLE_PARAMETERS.xRequestId,
    },
  };
}

const sharedParameter = (name: string): JsonSchema => ({ $ref: `#/components/parameters/${name}` });

function pathParameters({ path }: OperationContract): JsonSchema[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => sharedParameter(name));
}

function headerParameters({ idempotencyKey }: OperationContract): JsonSchema[] {
  return [...(idempotencyKey ? [sharedParameter("idempotencyKey")] : []), sharedParameter("requestId")];
}

function queryParameters(id: OperationId, { query }: OperationContract): JsonSchema[] {
  if (query === undefined) return [];
  if (!(query instanceof z.ZodObject)) throw new Error(`the query of ${id} is not an object schema`);
  return Object.entries(query.shape as Record<string, z.ZodType>).map(([name, field]) =>
    queryParameter(id, name, field),
  );
}

function queryParameter(id: OperationId, name: string, field: z.ZodType): JsonSchema {
  const schema = parameterSchema(field);
  // A list is one parameter, with commas between its values.
  const form = schema["type"] === "array" ? { style: "form", explode: false } : {};
  return {
    name,
    in: "query",
    required: !field.safeParse(undefined).success,
    description: queryText(id, name),
    ...form,
    schema,
  };
}
