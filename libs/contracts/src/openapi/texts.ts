import type { OperationGroup, OperationId } from "../operations.ts";

/** Opens the reference. Markdown. */
export const INTRODUCTION = `
Manage trading accounts on your trading servers from your own backend: accounts, money, history and stored metrics.
Requests are paid with credits.

## Authentication

Every request carries \`Authorization: Management kapi.<key_id>.<secret>\`. A key has scopes; each operation names the one it
needs. A key that is limited to some servers reads and changes nothing of the other servers. Keys belong on a trusted
server: never call this API from a browser or a mobile application.

## Commands

Most changes are queued: the answer is 202 with a command, and \`GET /api/v1/management/commands/{commandId}\` returns its
state (\`queued\`, \`leased\`, then \`succeeded\`, \`failed\` or \`expired\`). With \`?wait=20\` that request answers as soon as
the command is final, or after 20 seconds. Once it is \`succeeded\`, every read shows its effect.

## Idempotency

Queued operations need an \`Idempotency-Key\`: one per change, repeated only to retry it. A retry returns 200 with the
earlier command, \`duplicate: true\` and the header \`Idempotent-Replayed\`. A repeated bulk returns 202 again, with
the same header, and \`duplicate: true\` for each item. The same key for a different request is rejected: 409 for
creations, else 400. A request that is rejected with a 4xx status does not use up its key. After a 5xx status or a lost
answer, retry with the same key.

## Credits

Every answer has its cost in \`X-Credits-Charged\`. \`X-Credits-Remaining\` has the remaining credits, and is absent if no
wallet was read, as in a 401. Rejected requests (400, 404, 409) and duplicates cost the price of a read; 401, 402, 403,
429 and 5xx cost nothing. The price of a queued command is reserved, consumed when it succeeds or fails, and
released when it expires. A read is also charged if the caller disconnects before the end of the answer.

## Concurrent requests

Several kinds of requests, mainly searches and lists of all accounts of a server, have a maximum number of concurrent
requests per organization. A request beyond this maximum returns 429 with the code \`TOO_MANY_CONCURRENT_REQUESTS\`:
retry after \`Retry-After\`. A list that takes longer than two minutes to read is cut off; request pages instead.

## Lists

Lists are newest first, unless the operation names another order. A record that is added while you read pages by number
moves all older records, so that you may read a record twice. To read every record once, pass
\`pagination.nextCursor\` of each page as \`cursor\` of the next request, until it is null. These pages have every record
that existed at the first page, whatever is added meanwhile.

## Live metrics

Live values of accounts come over a WebSocket, \`/api/v1/management/live-metrics\`, with the same keys. Its messages, limits
and codes are in an AsyncAPI document of their own: [/asyncapi.json](/asyncapi.json).

## Errors

An error has a text for people, a stable code for programs, and the id of the request. With invalid fields it also has
\`issues\`, which names each of them:

\`\`\`json
{
  "error": "Invalid request",
  "code": "VALIDATION_FAILED",
  "requestId": "7c0f0f5e-2d0f-4a53-9a3e-6d1f6a6c4d11",
  "issues": [{ "path": ["amount"], "code": "too_small", "message": "Too small: expected number to be >0" }]
}
\`\`\`

The headers \`X-Error-Code\` and \`X-Request-Id\` repeat code and id. Send your own \`X-Request-Id\` to find a request in your
usage and our logs. Unknown fields and query parameters are ignored. Times are ISO 8601; times that you send have an
offset, which may be any. Their digits after the milliseconds are ignored.
`.trim();

export const GROUP_TEXTS: Readonly<Record<OperationGroup, string>> = {
  Credits:
    "The wallet that pays for requests. Keys that are limited to some servers read the balance and the prices, and no usage.",
  Servers: "Configuration of the trading servers that your organization owns.",
  Accounts: "Trading accounts from creation to deletion.",
  History: "What happened on an account. Lists are paged and newest first; daily digests are sorted by account number.",
  Finance: "Money to and from an account. Amounts are in units of the account's currency, with at most two decimals.",
  Commands: "Queued changes and their final states.",
  Metrics: "Stored snapshots of account values. Live values are on the WebSocket `/api/v1/management/live-metrics`.",
  Risk: "Rules that limit the loss of an account. kapi compares every valuation with them and acts on a breach.",
  Webhooks: "What happened, sent to your endpoints, signed; and the same events as a feed.",
};

const PASSWORD_RESET_TEXT =
  "Without `password` one is generated. A retry with the same `Idempotency-Key` shows the same password again, and only to the management key that made the reset: a request with another management key is a different request, and is rejected with 400 (`IDEMPOTENCY_KEY_REUSED`). `result`: `{changedAt}`.";

/** Descriptions of operations beyond the summary. Markdown. */
export const OPERATION_TEXTS: Partial<Readonly<Record<OperationId, string>>> = {
  getCreditBalance: "`availableCredits + reservedCredits + lifetimeConsumed` is always `lifetimePurchased`.",
  listCreditUsage:
    "One line for each billed request, or for the reservation of a command. Refunds and released reservations are lines with negative `credits`. With a filter the request reads every line between `from` and `to`. If that takes more than two seconds it returns 500: give a shorter span.",
  updateServerConfiguration:
    "Give at least one field; other fields are unchanged. `defaultLeverage` has to be in the resulting `supportedLeverage`, and becomes null if a new `supportedLeverage` does not contain it. A change of currency concerns new accounts only.",
  flattenAccount:
    "Positions are closed at the market. While the market of a position is closed, the command is retried until its deadline. If the account still has open positions then, the command fails with `ACCOUNT_HAS_OPEN_POSITIONS`. Positions that it has closed stay closed; `errorMessage` names them. `result`: `{closed, cancelled}`. To prevent new orders, use `disableAccount` with `flatten`.",
  setAccountCloseOnly:
    "When the account becomes close-only, the trading server cancels the pending orders that would open or increase a position. From then on it rejects new positions, new pending orders and more volume. Positions can be reduced and closed, and stay valued; deposits and withdrawals go on. `enableAccount` ends this. Fails with `INVALID_STATE_TRANSITION` for an account that is disabled or archived: close-only would allow more than this status. `result`: `{status, changed, cancelled}`.",
  setRiskRules:
    "The rules replace all rules of the account. When the command is `succeeded`, every valuation from `activeFrom` on is compared with them, and `result` is `{version, activeFrom}`. A rule that keeps its `id` and `type` keeps the breach of the present period. It also keeps the value from which its loss or profit counts, unless the new rule counts from another value. A rule that is removed and added again starts anew. A loss that already reaches its limit is a breach at once.",
  deleteRiskRules:
    "`result`: `{version, activeFrom}` of the version without rules. Breaches stay readable. No template applies to the account afterwards. With `useTemplate=true` the account gets the rules of the oldest template that matches it instead, and follows this template from then on; if none matches, the command fails with `INVALID_STATE_TRANSITION`. The request has no body: `requestId` is in the query.",
  setRiskTemplate:
    "The template is stored when the command is `succeeded`; `result` is `{version, accounts}`, with the number of accounts that it matches. Afterwards it is applied to them, and to all accounts whose rules came from an earlier version: see `accounts` of the template. Each gets a new version of its rules, as by `setRiskRules`. Rules that were set on an account are never replaced. If several templates match an account, the one that was created first applies. With `newAccounts` the template also applies to accounts that are created, renamed, or change their status later. A selection that matches no account is rejected, unless `newAccounts` is true. A server has at most 100 templates.",
  deleteRiskTemplate:
    "With `accountRules=keep` accounts keep the rules that they have from the template. With `accountRules=remove` each of these accounts gets the rules of another template that matches it and has `newAccounts`, or a version without rules. `result`: `{version}`. The request has no body: `requestId` and `accountRules` are in the query.",
  getRiskTemplate:
    "`progress` is `applied` when kapi has found all accounts that the template concerns, and `accounts.waiting` and `accounts.failed` are 0.",
  getRiskRules: "The newest version that is active. An account that never had rules has version 0.",
  listDailyDigests:
    "One digest for each account and day: counts, sums and hashes of its transactions and deals, and the balance at the end of the day. Compare them with your own books: [how](/docs/guides/daily-digest). A day is complete some minutes after its end in UTC; until then the answer is 409 with `Retry-After`. A record that arrives later gives the digest a new `revision`. Digests are kept for 400 days, also of accounts that were deleted.",
  listRiskBreaches:
    "Each rule is breached at most once in a period: a day of a daily rule, or the life of any other rule.",
  getBreachEvidence:
    "The valuations from a minute before the breach to a minute after it, the samples of the live stream, and the positions at `breach.extremeAt`. The evidence is complete about a minute and a half after the breach; until then the answer is 409 with `Retry-After`. Kept for 400 days. Store the whole answer as a file: `kapi verify-evidence` verifies it.",
  getIntervalEvidence:
    "An interval has at most 10 minutes. Valuations are kept for one hour, samples for 24 hours; `missing` names the deleted parts. An interval with more than 15,000 valuations or 5,000 samples is 400: ask for a shorter one. If kapi already reads too many intervals of your organization, or of all organizations together, the answer is 429 (`TOO_MANY_CONCURRENT_REQUESTS`): retry after `Retry-After`.",
  listTradingAccounts:
    "Without `page`, `limit` and `cursor`, every account that matches is in the answer, which is streamed. Otherwise the answer is one page and has `pagination`.",
  createTradingAccount:
    "The passwords of the account are in `credentials` of the first answer and nowhere else. If you lose that answer, repeat the request with the same `Idempotency-Key` to get the command, and then set new passwords with `resetTradingPassword` and `resetInvestorPassword`. When the command is `succeeded`, its `result` is `{accountId, accountNumber}`. 409: the key was used for another request, or the server is disabled.",
  bulkCreateTradingAccounts:
    "Each item is idempotent on its own, under `<Idempotency-Key>:<index>`. The whole request is checked before anything is queued: with one invalid item nothing is queued. A repeated bulk returns 202 with its items as duplicates, without credentials. If you lose the first answer, its passwords are lost too: find the accounts with `GET …/commands?bulkIdempotencyKey=<Idempotency-Key>` (`result.accountNumber`; with `wait=30` the answer comes when all commands are final, or after 30 seconds), and then set new passwords with `resetTradingPassword` and `resetInvestorPassword`.",
  getTradingAccount:
    "Values come from the trading server, or from the newest live sample if the server cannot be reached: `metricsMeasuredAt` shows when they were measured. `credentials` never holds a password.",
  updateTradingAccount:
    "Give `accountName`, `leverage` or both. The leverage has to be supported by the server. `result`: `{accountName, leverage, version}`.",
  deleteTradingAccountImmediately:
    "Removes the account from the trading server, and its history and snapshots, before it answers. Open positions are closed at the market; their closing deals are in the event feed, before `account.deleted`. An account that was deleted already answers 200 again; one that never existed is 400 with the code `ACCOUNT_NOT_FOUND`. After a 5xx status repeat the request: it completes the deletion.",
  enableAccount: "`result`: `{status, changed}`. Enabling an account that is active succeeds with `changed: false`.",
  disableAccount:
    "Deposits and withdrawals go on. Without `flatten`, open positions stay open and are still valued. `result`: `{status, changed}`; with `flatten` also `closed` and `cancelled`.",
  archiveAccount: "Fails with `ACCOUNT_HAS_OPEN_POSITIONS` while a position is open. `result`: `{status, changed}`.",
  queueAccountDeletion:
    "Fails with `ACCOUNT_HAS_OPEN_POSITIONS` while a position is open. `result`: `{accountNumber, deleted: true}`.",
  resetTradingPassword: PASSWORD_RESET_TEXT,
  resetInvestorPassword: PASSWORD_RESET_TEXT,
  listAccountPositions:
    "`status=open&limit=1` shows whether a position is open: `pagination.total` is 0 if no position is open. This request waits until all events that the trading server has of the account are stored. If that takes more than two seconds it returns 500 and can be retried. `volume` is what was opened, in lots, and `closedVolume` what was closed since; the difference is still open.",
  listAccountDeals: "One record for each execution: a partial close keeps its own time.",
  getAccountState:
    "Shows what a trader had at a time, for example in a dispute. `balance` and `positions` include everything whose time is in the millisecond `at` or earlier: the request first waits until all events that the trading server has of the account are stored. If that takes more than two seconds it returns 500 and can be retried. The trading server's clock decides, so an event of the last moments may have a later time than `at`. `equity` comes from the stored snapshots (`listAccountMetrics`): one for each minute in which the account changed, stored some seconds after its minute, kept for 30 days. `equity` is that of the last snapshot whose whole minute was over at `at`; null if there is none. `measuredAt` is the beginning of this minute, so `ageMs` is at least 59,999. `positions` has at most 5,000 positions; if `positionCount` is higher, `listAccountPositions` has all. 400 for a time in the future, or before the account began; the issue says when that was.",
  exportAccountHistory:
    "`from` and `to` are inclusive, to the millisecond. The command's `result` is `{from, to, recordCount, truncated, records}`: the newest `limit` records of all four kinds together, newest first. With `truncated: true` ask again with the time of the last record as `to`: the next result begins with the records of that millisecond again.",
  depositAccountFunds: "`result`: `{transactionId, balanceAfter}`.",
  withdrawAccountFunds:
    "Fails with `INSUFFICIENT_FUNDS` beyond the lower of balance and free margin. `result`: `{transactionId, balanceAfter}`.",
  getCommand:
    "A key that is limited to some servers finds the commands of these servers alone; another command is 404. With `wait` the answer comes when the command is final or the time is over, or at once if too many requests of your organization already wait. A command can be read right after the 202 that queued it, and forever: once its details are no longer kept (after 13 months, unless the operator decides otherwise), only `id`, `operation`, `status`, `attempts`, `errorCode`, `idempotencyKey`, `createdAt`, `serverId` and `createdBy` are there, and `result` is null.",
  listCommands:
    "`from` and `to` are inclusive, on `createdAt`. With `wait`, and `bulkIdempotencyKey` or `idempotencyKeyPrefix`, the answer comes when every command of the page is final or the time is over, or at once if too many requests of your organization already wait. Commands that were just accepted may be missing for a moment: compare `pagination.total` with the number of commands that you sent. Commands whose details are no longer kept (after 13 months, unless the operator decides otherwise) are not listed.",
  listAccountMetrics:
    "One snapshot per account and minute in which it changed, kept for 30 days, newest first. `since` is inclusive, `until` exclusive. With `accountNumber` and `limit=1` the answer has the latest snapshot of the account. These are not live values, and an empty answer does not mean that there is no risk.",
  createWebhook:
    "Addresses are https, public, on a port that your operator allows (by default 443), and without user name or fragment; the error says why one is rejected (`WEBHOOK_URL_REFUSED`). Without `kinds` every kind except those of commands is sent. An organization has at most 20 endpoints (`TOO_MANY_ENDPOINTS`). Deliveries are signed according to Standard Webhooks: any of its libraries verifies them with `secret`. The events are described below, under webhooks.",
  listWebhookDeliveries:
    "`pagination.total` counts at most 10,000 deliveries, and pages by number begin within the newest 10,000. Pages by `cursor` go on to the oldest delivery that is kept.",
  listWebhooks:
    "`failingSince`: since when every attempt has failed. `disabledReason`: `owner` (you), `gone` (it answered 410) or `failing` (nothing but failures for five days).",
  updateWebhook:
    "Give at least one field; other fields are unchanged. `status: enabled` also restarts the count of failing days.",
  rotateWebhookSecret: "Until 24 hours have passed each delivery carries two signatures, one by each secret.",
  testWebhook: "Sent like every other event; an endpoint that is disabled is 400 with the code `ENDPOINT_DISABLED`.",
  replayWebhook:
    "The events from `since` (inclusive) to `until` (exclusive), of the given `kinds` or else of the endpoint's kinds, and of the endpoint's servers; at most 20,000 (`TOO_MANY_EVENTS`). They keep their ids: a receiver that has one already ignores it. An endpoint that is disabled is 400 with the code `ENDPOINT_DISABLED`.",
  redeliverWebhook:
    "Sends the delivery again with the same id, whatever its outcome was. An endpoint that is disabled is 400 with the code `ENDPOINT_DISABLED`.",
  listEvents:
    "Pass `next` of an answer as `after` of the next request; without `after` the feed begins with the oldest event that is kept (30 days), with `after=now` at this moment. A page can be empty with a new `next`: continue until `next` does not change. No event is ever added before a cursor that was given out.",
};

/**
 * Descriptions of query parameters, by name. `<operation>.<name>` overrides a name for one
 * operation.
 */
const QUERY_TEXTS: Readonly<Record<string, string>> = {
  page: "Number of the page, from 1. With `cursor`, omit `page` or send 1. Records that are added meanwhile shift the pages: read long lists by `cursor`.",
  limit: "Maximum number of records to return.",
  cursor:
    "`nextCursor` of the previous page. The answer is the next page, without repeated or skipped records. Repeat the filters of the first page.",
  status: "Only records with this status.",
  search: "Only accounts whose number or name contains this text.",
  wait: "Seconds to wait for a final state, 0 to 30. A larger number means 30, and an invalid value means 0.",
  operation: "Only commands of this operation.",
  accountNumber: "Only records of this account.",
  "deleteRiskRules.requestId": "Your correlation id, 1 to 100 characters. Not unique; commands can be found by it.",
  "getIntervalEvidence.from": "Beginning of the interval, within the last 24 hours.",
  "getIntervalEvidence.to": "End of the interval, inclusive; at most 10 minutes after `from`, and not in the future.",
  "deleteRiskRules.useTemplate": "`true`: the account gets the rules of the template that matches it.",
  "deleteRiskTemplate.requestId": "Your correlation id, 1 to 100 characters. Not unique; commands can be found by it.",
  accountRules: "`keep`: accounts keep the rules that they have from the template. `remove`: these rules are removed.",
  "listRiskBreaches.from": "Only breaches measured at or after this time.",
  "listRiskBreaches.to": "Only breaches measured before this time.",
  requestId: "Only records with this `requestId`.",
  idempotencyKey: "Only the command with this idempotency key.",
  bulkIdempotencyKey: "Only the commands of the bulk that had this `Idempotency-Key`.",
  idempotencyKeyPrefix:
    "Only commands whose idempotency key begins with this text, which is compared literally. If more than 10,000 keys of the server begin with it, the answer is 400.",
  "listCommands.wait":
    "Only with `bulkIdempotencyKey` or `idempotencyKeyPrefix`: seconds to wait until every command of the page is final, 0 to 30. A larger number means 30, and an invalid value means 0.",
  from: "Only records at or after this time.",
  to: "Only records before this time.",
  "listTradingAccountTransactions.from": "Only transactions recorded at or after this time.",
  "listTradingAccountTransactions.to": "Only transactions recorded before this time.",
  "listTradingAccountTransactions.type": "Only transactions of this type.",
  "listTradingAccountOrders.from": "Only orders created at or after this time.",
  "listTradingAccountOrders.to": "Only orders created before this time.",
  "listAccountPositions.from": "Only positions opened at or after this time.",
  "listAccountPositions.to": "Only positions opened before this time.",
  "listAccountDeals.from": "Only deals executed at or after this time.",
  "listAccountDeals.to": "Only deals executed before this time.",
  "listCommands.from": "Only commands created at or after this time.",
  "listCommands.to": "Only commands created at or before this time.",
  "listCreditUsage.from": "Only requests at or after this time.",
  "listCreditUsage.to": "Only requests before this time.",
  "listCreditUsage.operation": "Only lines of requests for this operation, as `operation` of the line shows it.",
  "listCreditUsage.commandId": "Only lines of this command.",
  xRequestId: "Only lines of the request with this `X-Request-Id`.",
  "listWebhookDeliveries.from": "Only deliveries created at or after this time.",
  "listWebhookDeliveries.to": "Only deliveries created before this time.",
  at: "The time, in RFC 3339 with any offset. Digits after the milliseconds are ignored.",
  since: "Only snapshots measured at or after this time.",
  until: "Only snapshots measured before this time.",
  type: "Only deliveries of this kind of event.",
  eventId: "Only deliveries of this event.",
  symbol: "Only records of this instrument, such as EURUSD.",
  side: "Only records of this side: buy or sell.",
  orderType: "Only orders of this type, such as market, limit or stop.",
  kind: "Only deals of this kind.",
  orderId: "Only records of this order.",
  positionId: "Only records of this position.",
  dealId: "Only transactions of this deal.",
  date: "The day in UTC, such as 2026-11-26. It must be over.",
  ruleId: "Only breaches of the rules with this id.",
  commandId: "Only transactions of this command.",
  after: "`next` of the previous answer, or `now`.",
  kinds:
    "Only events of these kinds, separated by commas; without it, all kinds except those of commands. Repeating the parameter for each kind works too.",
};

/** The description of a query parameter. @throws Error for a parameter without a text. */
export function queryText(operation: OperationId, name: string): string {
  const text = QUERY_TEXTS[`${operation}.${name}`] ?? QUERY_TEXTS[name];
  if (text === undefined) throw new Error(`the parameter ${name} of ${operation} has no text in texts.ts`);
  return text;
}
