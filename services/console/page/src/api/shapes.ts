/** The wire shapes of the console, as types only: the browser loads no schemas. */
import type { EventDeliveriesAnswer, EvidenceDocument, WebhookDelivery, WebhookEndpoint } from "@kapi/contracts";

export type {
  AccountAction,
  AccountDeliveriesAnswer,
  AccountMetricsFrame,
  AccountRiskRules,
  AccountStatus,
  Actor,
  AuditAnswer,
  AuditEntry,
  Command,
  CommandEnvelope,
  CommandOperation,
  CommandStatus,
  ConsoleAccountsAnswer,
  ConsoleEquityHistory,
  ConsoleInvitation,
  ConsoleKey,
  ConsoleOverview,
  ConsolePeopleAnswer,
  ConsolePermission,
  ConsolePerson,
  ConsoleRequest,
  ConsoleRequestsAnswer,
  ConsoleRole,
  ConsoleServer,
  ConsoleServersAnswer,
  ConsoleSession,
  ConsoleSessionEntry,
  CreateConsoleKeyBody,
  CreatedConsoleKeyAnswer,
  CreditUsage,
  Deal,
  DeliveryStatus,
  EquityPoint,
  EquityRange,
  ErrorBody,
  EventDeliveriesAnswer,
  FoundCommandsAnswer,
  InvitationAnswer,
  InvitePersonBody,
  InvitedPersonAnswer,
  Issue,
  ListedAccount,
  ListedConsoleKey,
  LiveEnd,
  NearLimit,
  NearLimitsAnswer,
  OperationId,
  Order,
  Pagination,
  Position,
  RecentBreachesAnswer,
  RecoveryCodesAnswer,
  RiskAction,
  RiskBreach,
  RiskLimit,
  RiskRule,
  RiskTemplate,
  RiskTemplateSelection,
  Scope,
  ScopesAnswer,
  SecondFactorNeeded,
  SignInOptions,
  SearchAnswer,
  SearchResult,
  SearchSource,
  TemplateAccount,
  TemplateAccountsAnswer,
  TemplateAction,
  TradingAccount,
  Transaction,
  TransactionType,
  TwoFactorSecretAnswer,
  UpdateConsoleServerBody,
  UsageByDayAnswer,
  Wallet,
  WebhookDelivery,
  WebhookDisabledReason,
  WebhookEndpoint,
  WebhookKind,
} from "@kapi/contracts";

/** The evidence of a breach: a signed document. */
export type BreachEvidence = Extract<EvidenceDocument, { kind: "breach" }>;
export type EvidencePosition = NonNullable<BreachEvidence["positions"]>[number];
export type MissingEvidence = BreachEvidence["missing"][number];
/** The settings of a webhook endpoint. */
export type WebhookSettings = Pick<WebhookEndpoint, "url" | "description" | "kinds" | "serverIds">;
/** The answer to a creation or a rotation: an endpoint and its new signing secret. */
export interface WebhookSecret {
  readonly endpoint: WebhookEndpoint;
  readonly secret: string;
}
/** A delivery of an event, with the address of its endpoint. */
export type EventDelivery = EventDeliveriesAnswer["event"]["deliveries"][number];
export type WebhookAttempt = WebhookDelivery["attempts"][number];
