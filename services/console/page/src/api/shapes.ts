/** The wire shapes that the console speaks, as types only: no schema travels to the browser. */
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

/** What a person sets of a webhook endpoint; a change can also be of its status. */
export type WebhookSettings = Pick<WebhookEndpoint, "url" | "description" | "kinds" | "serverIds">;
/** The answer that shows a secret, once. */
export interface WebhookSecret {
  readonly endpoint: WebhookEndpoint;
  readonly secret: string;
}
export type WebhookAttempt = WebhookDelivery["attempts"][number];
