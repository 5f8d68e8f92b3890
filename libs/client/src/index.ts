export { Kapi, type KapiOptions } from "./kapi.ts";
export * from "./errors.ts";
export * from "./commands/errors.ts";
export { PartialBulkError } from "./commands/partial-bulk-error.ts";
export { QueuedCommand, type WaitOptions } from "./commands/queued-command.ts";
export type { CommandOperation, ExportRecord, HistoryExport, ResultOf } from "./commands/results.ts";
export type {
  AccountCredentials,
  AccountDigest,
  AccountMetricSnapshot,
  AccountRiskRules,
  AccountState,
  Command,
  CreditPrices,
  CreditUsage,
  Deal,
  FeedEvent,
  Money,
  OpenPosition,
  Order,
  Position,
  RiskBreach,
  RiskRule,
  RiskTemplate,
  RiskTemplateSelection,
  Server,
  StoredEquity,
  TradingAccount,
  Transaction,
  Wallet,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEvent,
  WebhookKind,
} from "./generated/api.ts";
export type { RetryOptions } from "./http/retry.ts";
export { List, type Page, type PageOptions } from "./list.ts";
export type {
  AccountChanges,
  AccountDetails,
  AccountResource,
  BreachFilter,
  DealFilter,
  Funds,
  OrderFilter,
  PositionFilter,
  TransactionFilter,
} from "./resources/account.ts";
export type { AccountFilter, AccountsResource, NewAccount } from "./resources/accounts.ts";
export type { CommandFilter, CommandsResource, QueueOptions } from "./resources/commands.ts";
export type { CreditsResource, UsageFilter } from "./resources/credits.ts";
export type { CursorStore, EventPage, EventsOptions, EventsResource } from "./resources/events.ts";
export type { ExportOptions } from "./resources/export.ts";
export type { NewRiskTemplate, RiskTemplatesResource } from "./resources/risk-templates.ts";
export type { ServerResource, SnapshotFilter } from "./resources/server.ts";
export type { DeliveryFilter, EndpointSecret, WebhooksResource } from "./resources/webhooks.ts";
export { type IncomingHeaders, verifyWebhook, WebhookSignatureError } from "./webhooks/verify.ts";
export type { Account, LiveEvent, LiveHandler, Sample } from "./live/events.ts";
export { Live, type LiveOptions } from "./live/live.ts";
export type { Place, Proof, Truncation } from "./live/place.ts";
export type { LiveSocket, Rejection, SocketFactory, SocketListener } from "./live/socket.ts";
export {
  checkReceiver,
  type Expectation,
  type ReceiverCheckOptions,
  type ReceiverCheckResult,
  ReceiverUnreachable,
} from "./receiver-check/check-receiver.ts";
export { type DigestContent, digestHash, recordsHash } from "./digests/hash.ts";
export type {
  BookDay,
  DigestDifference,
  Reconciliation,
  ReconcileOptions,
  RecordDifference,
} from "./digests/reconcile.ts";
export type { Contradiction } from "./evidence/contradictions.ts";
export type {
  BreachEvidence,
  EvidenceBreach,
  EvidenceDocument,
  EvidenceKey,
  EvidenceKeys,
  EvidencePosition,
  EvidenceRecord,
  EvidenceRule,
  EvidenceSample,
  EvidenceValuation,
  IntervalEvidence,
} from "./evidence/document.ts";
export { fetchEvidenceKeys, type FetchKeysOptions, parseEvidenceKeys } from "./evidence/keys.ts";
export { type EvidenceProblem, type EvidenceResult, verifyEvidence } from "./evidence/verify.ts";
