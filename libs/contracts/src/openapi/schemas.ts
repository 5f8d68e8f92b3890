import { z } from "zod";

import { Actor, ActorType } from "../actor.ts";
import { COMMANDS } from "../commands.ts";
import { AccountMetricsAnswer, AccountMetricSnapshot } from "../http/account-metrics.ts";
import { AccountState, AccountStateAnswer, OpenPosition, StoredEquity } from "../http/account-state.ts";
import {
  AccountCredentials,
  AccountDetailsAnswer,
  AccountStatus,
  BulkCreateTradingAccountsBody,
  CreateTradingAccountBody,
  DeletedAccountAnswer,
  DisableAccountBody,
  RequestBody,
  ResetPasswordBody,
  TradingAccount,
  TradingAccountsAnswer,
  UpdateTradingAccountBody,
} from "../http/accounts.ts";
import { COMMAND_RESULTS } from "../http/command-results.ts";
import { ClosedPosition } from "../messages/trading-event.ts";
import {
  AccountPasswords,
  BulkEnvelopesAnswer,
  Command,
  CommandAnswer,
  CommandEnvelope,
  CommandErrorCode,
  CommandOperation,
  CommandsAnswer,
  CommandStatus,
  FinalCommandStatus,
  GetCommandQuery,
  PasswordResetEnvelope,
} from "../http/commands.ts";
import { CreditPricesAnswer, CreditUsage, CreditUsageAnswer, Wallet, WalletAnswer } from "../http/credits.ts";
import { AccountDigest, DealsDigest, DigestsAnswer, TransactionsDigest } from "../http/digests.ts";
import { ExportAccountHistoryBody, ExportRecord, HistoryExport } from "../http/exports.ts";
import { FundsBody, Transaction, TransactionsAnswer, TransactionType } from "../http/finance.ts";
import {
  Deal,
  DealsAnswer,
  Order,
  OrdersAnswer,
  Position,
  PositionsAnswer,
  PositionStatus,
  PositionStatusFilter,
} from "../http/history.ts";
import { Pagination } from "../http/pagination.ts";
import { RISK_SCHEMA_RULES, RISK_SCHEMAS } from "./risk-schemas.ts";
import {
  RiskTemplateProgress,
  RiskTemplateSelection,
  RiskTemplateStatus,
  SetRiskTemplateBody,
  TemplateAccountRules,
} from "../http/risk-templates.ts";
import {
  AccountRiskRules,
  DailyLossBasis,
  RiskAction,
  RiskBasis,
  EvidenceStatus,
  RiskBreachesAnswer,
  RiskLimit,
  RiskRule,
  RiskRulesAnswer,
  RiskRulesTemplate,
  SetRiskRulesBody,
} from "../http/risk.ts";
import {
  Server,
  ServerAnswer,
  ServerEnvironment,
  ServerStatus,
  UpdateServerConfigurationBody,
} from "../http/servers.ts";
import {
  AccountEventStatus,
  CreateWebhookBody,
  DeletedWebhookAnswer,
  DeliveryAttempt,
  DeliveryStatus,
  EventsAnswer,
  FeedEvent,
  ListEventsQuery,
  PasswordKind,
  ReplayWebhookBody,
  UpdateWebhookBody,
  WEBHOOK_KINDS,
  WebhookAnswer,
  WebhookDeliveriesAnswer,
  WebhookDelivery,
  WebhookDeliveryAnswer,
  WebhookDisabledReason,
  WebhookEndpoint,
  WebhookEvent,
  WebhookKind,
  WebhookKinds,
  WebhookReplayAnswer,
  WebhooksAnswer,
  WebhookSecretAnswer,
  WebhookServerIds,
  WebhookStatus,
  WebhookTestAnswer,
} from "../http/webhooks.ts";
import { Prices } from "../prices.ts";
import { Currency } from "../values.ts";
import { describeSchemas } from "./descriptions.ts";
import { EVENTS } from "./event-schemas.ts";
import { UNIONS, valuesOf } from "./unions.ts";

/** A JSON Schema of the dialect 2020-12, which OpenAPI 3.1 uses. */
export type JsonSchema = Record<string, unknown>;

/** Closed lists of values, by name in the document. */
const ENUMS = {
  ActorType,
  Currency,
  ServerStatus,
  ServerEnvironment,
  AccountStatus,
  CommandOperation,
  CommandStatus,
  FinalCommandStatus,
  CommandErrorCode,
  TransactionType,
  PositionStatus,
  AccountEventStatus,
  PasswordKind,
  WebhookStatus,
  WebhookDisabledReason,
  DeliveryStatus,
  PositionStatusFilter,
  RiskAction,
  RiskBasis,
  DailyLossBasis,
  RiskTemplateStatus,
  RiskTemplateProgress,
  TemplateAccountRules,
  WebhookKind,
} as const satisfies Record<string, z.ZodEnum>;

/** Results of commands, by name in the document. Some operations share a result. */
const RESULTS = {
  AccountCreateResult: COMMAND_RESULTS["account.create"],
  AccountUpdateResult: COMMAND_RESULTS["account.update"],
  AccountStatusResult: COMMAND_RESULTS["account.enable"],
  AccountDeleteResult: COMMAND_RESULTS["account.delete"],
  PasswordResetResult: COMMAND_RESULTS["account.password_reset"],
  FundsResult: COMMAND_RESULTS["finance.deposit"],
  AccountDisableResult: COMMAND_RESULTS["account.disable"],
  AccountCloseOnlyResult: COMMAND_RESULTS["account.close_only"],
  AccountFlattenResult: COMMAND_RESULTS["account.flatten"],
  ClosedPosition,
  RiskRulesResult: COMMAND_RESULTS["risk.set_rules"],
  RiskSetTemplateResult: COMMAND_RESULTS["risk.set_template"],
  RiskDeleteTemplateResult: COMMAND_RESULTS["risk.delete_template"],
} as const satisfies Record<string, z.ZodType>;

/** Schemas of answers, by name in the document. */
export const RECORDS = {
  ...ENUMS,
  Actor,
  Wallet,
  CreditPrices: Prices,
  CreditUsage,
  Server,
  TradingAccount,
  AccountCredentials,
  AccountPasswords,
  ...RESULTS,
  Command,
  CommandEnvelope,
  PasswordResetEnvelope,
  Transaction,
  Order,
  Position,
  Deal,
  AccountMetricSnapshot,
  OpenPosition,
  StoredEquity,
  AccountState,
  ExportRecord,
  HistoryExport,
  Pagination,
  WalletAnswer,
  CreditPricesAnswer,
  CreditUsageAnswer,
  ServerAnswer,
  TradingAccountsAnswer,
  AccountDetailsAnswer,
  DeletedAccountAnswer,
  BulkEnvelopesAnswer,
  CommandAnswer,
  CommandsAnswer,
  TransactionsAnswer,
  OrdersAnswer,
  PositionsAnswer,
  DealsAnswer,
  AccountMetricsAnswer,
  AccountStateAnswer,
  RiskLimit,
  RiskRule,
  AccountRiskRules,
  ...RISK_SCHEMAS,
  EvidenceStatus,
  TransactionsDigest,
  DealsDigest,
  AccountDigest,
  DigestsAnswer,
  RiskRulesAnswer,
  RiskBreachesAnswer,
  RiskRulesTemplate,
  RiskTemplateSelection,
  WebhookEndpoint,
  WebhookDelivery,
  DeliveryAttempt,
  FeedEvent,
  WebhookEvent,
  WebhookAnswer,
  WebhooksAnswer,
  WebhookSecretAnswer,
  DeletedWebhookAnswer,
  WebhookTestAnswer,
  WebhookReplayAnswer,
  WebhookDeliveriesAnswer,
  WebhookDeliveryAnswer,
  EventsAnswer,
} as const satisfies Record<string, z.ZodType>;

/** Schemas of request bodies, by name in the document. */
export const BODIES = {
  UpdateServerConfiguration: UpdateServerConfigurationBody,
  CreateTradingAccount: CreateTradingAccountBody,
  BulkCreateTradingAccounts: BulkCreateTradingAccountsBody,
  UpdateTradingAccount: UpdateTradingAccountBody,
  AccountRequest: RequestBody,
  DisableAccount: DisableAccountBody,
  ResetPassword: ResetPasswordBody,
  ExportAccountHistory: ExportAccountHistoryBody,
  Funds: FundsBody,
  SetRiskRules: SetRiskRulesBody,
  SetRiskTemplate: SetRiskTemplateBody,
  CreateWebhook: CreateWebhookBody,
  UpdateWebhook: UpdateWebhookBody,
  ReplayWebhook: ReplayWebhookBody,
} as const satisfies Record<string, z.ZodType>;

/**
 * Schemas that answers and requests contain. The document describes them as they are in requests: a
 * field with a default is optional. So a client can copy such a record from an answer to a request.
 */
const RECORDS_IN_BODIES = {
  RiskLimit,
  RiskRule,
  RiskTemplateSelection,
  ...UNIONS["RiskRule"]?.variants,
} as const satisfies Record<string, z.ZodType>;

/** A comma-separated list in a query string: the parameter has `explode: false`. */
const LIST_OF_KINDS: JsonSchema = {
  type: "array",
  items: { $ref: uriOf("WebhookKind") },
  minItems: 1,
  maxItems: WEBHOOK_KINDS.length,
  uniqueItems: true,
};

const FUNDS_AMOUNT: JsonSchema = { minimum: 0.01, exclusiveMinimum: undefined, multipleOf: 0.01 };

/** Keywords that zod's JSON Schema lacks or has wrong; `undefined` removes a keyword. */
const RULES = new Map<z.ZodType, JsonSchema>([
  [CreateTradingAccountBody.shape.initialBalance, { multipleOf: 0.01 }],
  [CreateTradingAccountBody.shape.password, { format: "password" }],
  [ResetPasswordBody.shape.password, { format: "password" }],
  [COMMANDS["account.create"].payload.shape.initialBalance, { multipleOf: 0.01 }],
  [FundsBody.shape.amount, FUNDS_AMOUNT],
  [COMMANDS["finance.deposit"].payload.shape.amount, FUNDS_AMOUNT],
  [UpdateServerConfigurationBody.shape.supportedLeverage, { uniqueItems: true }],
  // At least one field, besides the required ones.
  [UpdateServerConfigurationBody, { minProperties: 1 }],
  [UpdateTradingAccountBody, { minProperties: 2 }],
  [UpdateWebhookBody, { minProperties: 1 }],
  // Accepts anything, because the operation has no status for an invalid value.
  [GetCommandQuery.shape.wait, { type: ["integer", "string"], default: 0, pattern: undefined, description: undefined }],
  [WebhookKinds, { uniqueItems: true }],
  [WebhookServerIds, { uniqueItems: true }],
  ...RISK_SCHEMA_RULES,
  [ListEventsQuery.shape.kinds, { ...LIST_OF_KINDS, anyOf: undefined }],
]);

/** Text of callers has no U+0000, which PostgreSQL cannot store. */
const TEXT_PATTERN = "^[^\\u0000]*$";
/** Formats whose pattern is redundant. */
const FORMATS = new Set(["uuid", "date-time"]);

/** All named schemas, for `components.schemas`. */
export function namedSchemas(): Record<string, JsonSchema> {
  const variants = Object.values(UNIONS).map((union) => union.variants);
  const records: Record<string, z.ZodType> = Object.assign({}, RECORDS, ...variants);
  const answers = registered(records, "output");
  const bodies = registered({ ...ENUMS, ...BODIES, ...RECORDS_IN_BODIES }, "input");
  return describeSchemas({ ...answers, ...bodies, ...unionSchemas() });
}

/** The unions, each with the field that tells its variants apart. */
function unionSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(UNIONS).map(([name, { field, variants }]) => {
      const named = Object.entries(variants);
      const mapping = named.flatMap(([variant, schema]) =>
        valuesOf(schema, field).map((value) => [value, uriOf(variant)]),
      );
      const oneOf = named.map(([variant]) => ({ $ref: uriOf(variant) }));
      return [name, { oneOf, discriminator: { propertyName: field, mapping: Object.fromEntries(mapping) } }];
    }),
  );
}

/** A reference to a schema in the document. @throws Error for a schema without a name. */
export function referenceTo(schema: z.ZodType): JsonSchema {
  for (const [name, known] of Object.entries<z.ZodType>({ ...RECORDS, ...BODIES, ...EVENTS })) {
    if (known === schema) return { $ref: uriOf(name) };
  }
  throw new Error("a schema of an operation has no name in the document: give it one in RECORDS or BODIES");
}

/**
 * The schema of a query parameter. A query string has only text: fields that are parsed to an
 * integer are described as an integer, and enums by a reference. Others are described as they are
 * sent.
 */
export function parameterSchema(field: z.ZodType): JsonSchema {
  const name = enumName(field);
  if (name !== null) {
    const { default: preset } = converted(field, "input");
    return { $ref: uriOf(name), ...(preset === undefined ? {} : { default: preset }) };
  }
  const output = converted(field, "output");
  return output["type"] === "integer" ? output : converted(field, "input");
}

/** The name of a field's enum in the document; null for other fields. */
function enumName(field: z.ZodType): string | null {
  let inner: unknown = field;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap();
  return Object.entries(ENUMS).find(([, schema]) => schema === inner)?.[0] ?? null;
}

function uriOf(name: string): string {
  return `#/components/schemas/${name}`;
}

function registered(schemas: Record<string, z.ZodType>, io: "input" | "output"): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const converted = z.toJSONSchema(registry, { ...settings(io), uri: uriOf }).schemas as Record<string, JsonSchema>;
  return Object.fromEntries(Object.entries(converted).map(([name, schema]) => [name, withoutDialect(schema)]));
}

function converted(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  return withoutDialect(z.toJSONSchema(schema, settings(io)) as JsonSchema);
}

function settings(io: "input" | "output") {
  return {
    io,
    target: "draft-2020-12",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: object }) => {
      simplify(jsonSchema as JsonSchema, io);
      applyRules(zodSchema as z.ZodType, jsonSchema as JsonSchema);
    },
  } as const;
}

/** Removes keywords without meaning for a reader; adds the pattern of text from callers. */
export function simplify(schema: JsonSchema, io: "input" | "output"): void {
  if (FORMATS.has(String(schema["format"]))) delete schema["pattern"];
  if (schema["minimum"] === Number.MIN_SAFE_INTEGER) delete schema["minimum"];
  if (schema["maximum"] === Number.MAX_SAFE_INTEGER) delete schema["maximum"];
  // Later versions may add fields to an answer; a reader that rejects them would break.
  if (io === "output" && schema["additionalProperties"] === false) delete schema["additionalProperties"];
  const free = schema["type"] === "string" && schema["enum"] === undefined && schema["const"] === undefined;
  if (io === "input" && free && schema["format"] === undefined) schema["pattern"] ??= TEXT_PATTERN;
}

function applyRules(zodSchema: z.ZodType, schema: JsonSchema): void {
  const rules = RULES.get(zodSchema);
  if (rules === undefined) return;
  Object.assign(schema, rules);
  for (const [name, value] of Object.entries(rules)) if (value === undefined) delete schema[name];
}

function withoutDialect({ $schema: _dialect, $id: _id, ...schema }: JsonSchema): JsonSchema {
  return schema;
}
