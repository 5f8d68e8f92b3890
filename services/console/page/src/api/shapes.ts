/** The wire shapes of the console, as types only: the browser loads no schemas. */
import type { WebhookDelivery, WebhookEndpoint } from "@kapi/contracts";

export type {
  AccountMetricsFrame,
  AccountStatus,
  AuditAnswer,
  AuditEntry,
  Command,
  CommandOperation,
  CommandStatus,
  ConsoleAccountsAnswer,
  ConsoleKey,
  ConsoleServer,
  ConsoleSession,
  CreateConsoleKeyBody,
  CreatedConsoleKeyAnswer,
  CreditUsage,
  DeliveryStatus,
  ErrorBody,
  Issue,
  LiveEnd,
  Pagination,
  Scope,
  ScopesAnswer,
  TradingAccount,
  UpdateConsoleServerBody,
  UsageByDayAnswer,
  Wallet,
  WebhookDelivery,
  WebhookDisabledReason,
  WebhookEndpoint,
  WebhookKind,
} from "@kapi/contracts";

/** The settings of a webhook endpoint. */
export type WebhookSettings = Pick<WebhookEndpoint, "url" | "description" | "kinds" | "serverIds">;
/** The answer that shows a secret, once. */
export interface WebhookSecret {
  readonly endpoint: WebhookEndpoint;
  readonly secret: string;
}
export type WebhookAttempt = WebhookDelivery["attempts"][number];
