/**
 * What a caller of the API does about each error: the text of its page in the documentation. One
 * row per code, so that a new code without a row does not compile.
 */
import type { ErrorCode } from "./errors.ts";
import type { CommandErrorCode } from "./http/commands.ts";
import type { LIVE_CLOSE_CODES, LIVE_ERROR_CODES } from "./live/frames.ts";

/** Whether the same request can succeed later. */
export type RetryAdvice =
  | "never"
  /** After a correction. A rejected request does not use its idempotency key up. */
  | "corrected"
  /** With the same idempotency key, after `Retry-After` or a growing delay. */
  | "same key"
  /**
   * After somebody has changed something, with a new idempotency key: a command has failed, and its
   * key names that command for good.
   */
  | "new key"
  /** Connect again, and subscribe with the stored sequences. */
  | "reconnect"
  /**
   * After the cause has ended: somebody has changed something (credits, the key, the server), or
   * the time in `Retry-After` is over.
   */
  | "later";

/** The advice on one error code. The documentation of the gateway shows it on the code's page. */
export interface ErrorAdvice {
  /** What happened. Markdown. */
  readonly happened: string;
  /** What to do. Markdown. */
  readonly action: string;
  readonly retry: RetryAdvice;
}

const SIGNED_IN = "Send `Authorization: Management kapi.<key_id>.<secret>` with a key that is valid.";

/** Errors of HTTP requests, and of the live stream's handshake. */
export const HTTP_ERROR_GUIDE: Readonly<Record<ErrorCode, ErrorAdvice>> = {
  VALIDATION_FAILED: {
    happened:
      "A field, parameter or header is missing or invalid. `issues` names each with its path, a code and a message. A request that is not valid HTTP has no `issues`.",
    action: "Correct the fields that `issues` names. The idempotency key was not used up.",
    retry: "corrected",
  },
  INVALID_JSON: {
    happened: "The body is not JSON in UTF-8.",
    action: "Send valid JSON with `Content-Type: application/json`.",
    retry: "corrected",
  },
  UNSUPPORTED_CONTENT_TYPE: {
    happened: "The body has another content type than `application/json`.",
    action: "Send `Content-Type: application/json`.",
    retry: "corrected",
  },
  BODY_TOO_LARGE: {
    happened: "The body is larger than 1 MiB.",
    action: "Send a bulk in several requests.",
    retry: "corrected",
  },
  IDEMPOTENCY_KEY_REUSED: {
    happened:
      "The `Idempotency-Key` was used before for a request with another operation, path or body. Nothing was queued. For creations the status is 409. A password reset that another management key made is also a different request.",
    action:
      "If you meant to repeat the earlier request, send exactly its body. If this is a new change, give it a key of its own. Derive keys from your own records, so that two changes never share one.",
    retry: "corrected",
  },
  LEVERAGE_NOT_SUPPORTED: {
    happened: "The server does not support this leverage.",
    action: "Choose one of `supportedLeverage` of the server's configuration.",
    retry: "corrected",
  },
  WEBHOOK_URL_REFUSED: {
    happened:
      "The address cannot be an endpoint; the text says why. Addresses are https and public, on port 443 unless your operator allows others. Their name must be resolvable now.",
    action:
      "Use a public https address. If its name could not be resolved, try again later. On your own machine forward events with `kapi listen`.",
    retry: "corrected",
  },
  TOO_MANY_ENDPOINTS: {
    happened: "The organization has 20 webhook endpoints.",
    action: "Delete an endpoint that you no longer need.",
    retry: "later",
  },
  TOO_MANY_EVENTS: {
    happened: "The period of the replay has more than 20,000 events.",
    action: "Replay a shorter period, or read the event feed.",
    retry: "corrected",
  },
  ENDPOINT_DISABLED: {
    happened: "The webhook endpoint is disabled.",
    action: 'Enable it with `PATCH` and `{"status": "enabled"}`.',
    retry: "later",
  },
  AUTHENTICATION_REQUIRED: {
    happened:
      "The management key is missing, unknown, revoked or expired, or your address is not in its allowed networks. All of them give the same answer.",
    action: `${SIGNED_IN} Create a key in the console, or have your address added to the allowed networks of the key.`,
    retry: "later",
  },
  INSUFFICIENT_CREDITS: {
    happened:
      "The wallet of the organization cannot pay for this request, or the organization has no wallet. Nothing was done.",
    action: "Buy credits. Watch `credits.low_balance`, so that you know before the wallet is empty.",
    retry: "later",
  },
  MISSING_SCOPE: {
    happened: "The key does not have the scope that the text names.",
    action: "Use a key with the scope. Scopes are chosen when a key is created.",
    retry: "later",
  },
  MISSING_SERVER_ACCESS: {
    happened:
      "The server does not exist, was removed, belongs to another organization, or the key is limited to other servers. Operations on all servers reject a key that is limited to some.",
    action: "Check the server id, and use a key that reaches the server.",
    retry: "later",
  },
  MISSING_PERMISSION: {
    happened: "The role of the person who is signed in to the console does not allow this.",
    action: "Ask an owner of the organization for another role.",
    retry: "later",
  },
  TOO_MANY_CONNECTIONS: {
    happened: "The organization has as many live connections to this process as it may have.",
    action: "Follow more accounts on one connection (up to 2,000), and close connections that you no longer need.",
    retry: "later",
  },
  CROSS_SITE_REQUEST: {
    happened: "A request to the console did not come from the console's own page.",
    action: "The console's API is for its own page. Use the management API.",
    retry: "never",
  },
  NOT_FOUND: {
    happened: "There is no such path.",
    action: "Compare the path with the reference.",
    retry: "corrected",
  },
  ACCOUNT_NOT_FOUND: {
    happened: "The server has no account with this number, or the account was deleted.",
    action:
      "Check the number and the server. The result of a creation command that succeeded has the number of the account.",
    retry: "never",
  },
  COMMAND_NOT_FOUND: {
    happened: "There is no such command, or the key does not reach its server.",
    action: "Check the id: it is `command.id` of the answer that queued the command.",
    retry: "never",
  },
  SERVER_NOT_FOUND: {
    happened: "The server was removed.",
    action: "Use another server.",
    retry: "never",
  },
  DIGEST_NOT_FOUND: {
    happened: "Digests are kept for 400 days, and a server has none of the days before kapi began to make them.",
    action: "Ask for a later day, or read the transactions and deals of the day.",
    retry: "never",
  },
  ENDPOINT_NOT_FOUND: {
    happened: "There is no such webhook endpoint.",
    action: "List the endpoints.",
    retry: "never",
  },
  DELIVERY_NOT_FOUND: {
    happened: "The endpoint has no such delivery. Deliveries are kept for a limited time.",
    action: "List the deliveries of the endpoint, or read the event feed.",
    retry: "never",
  },
  BREACH_NOT_FOUND: {
    happened: "The account has no such breach.",
    action: "Use the `id` of a breach in the list of breaches. In the event `risk.breached` it is `data.id`.",
    retry: "never",
  },
  EVIDENCE_NOT_FOUND: {
    happened: "The breach is older than 400 days, or kapi could not collect its evidence within an hour.",
    action: "The breach itself is kept: it is in the list of breaches until the account is deleted.",
    retry: "never",
  },
  RISK_TEMPLATE_NOT_FOUND: {
    happened: "The server has no risk template with this name, or the command that creates it has not succeeded yet.",
    action: "Wait for that command, or list the risk templates of the server.",
    retry: "later",
  },
  WALLET_NOT_FOUND: {
    happened: "The organization has no credit wallet.",
    action: "Ask your operator to create one.",
    retry: "later",
  },
  METHOD_NOT_ALLOWED: {
    happened: "The path exists, but not with this method. The header `Allow` lists the methods.",
    action: "Compare the method with the reference.",
    retry: "corrected",
  },
  SERVER_DISABLED: {
    happened: "The server is disabled: it takes no new accounts.",
    action: "Enable the server in the console, or use another one.",
    retry: "later",
  },
  VERSION_CHANGED: {
    happened: "Somebody else changed the risk rules or the template after the console's page had read them.",
    action: "Read the newest version, and make the change again if it is still wanted.",
    retry: "corrected",
  },
  ACCOUNT_QUOTA_REACHED: {
    happened:
      "The organization has as many accounts as it may have. This release has no such limit and does not return this error.",
    action: "Delete accounts that you no longer need, or ask your operator for a larger quota.",
    retry: "later",
  },
  EVIDENCE_PENDING: {
    happened:
      "Evidence includes the minute after the breach. That minute is not over yet, or the live samples are late.",
    action: "Repeat the request after the time in `Retry-After`, or wait for the webhook `risk.evidence_stored`.",
    retry: "later",
  },
  DIGEST_NOT_READY: {
    happened: "The day is over, but kapi does not have all its records yet. Usually this takes some minutes.",
    action: "Wait for `Retry-After` seconds, and ask again.",
    retry: "later",
  },
  RATE_LIMITED: {
    happened: "The key has made more requests than its rate limit allows.",
    action: "Wait for `Retry-After` seconds. Spread requests, or ask for a higher limit.",
    retry: "same key",
  },
  TOO_MANY_CONCURRENT_REQUESTS: {
    happened: "The organization has too many searches, whole account lists or other heavy requests at this moment.",
    action: "Wait for `Retry-After` seconds. Read pages by cursor in place of whole lists.",
    retry: "same key",
  },
  INTERNAL: {
    happened: "Something failed inside kapi. A change may have been accepted.",
    action: "Repeat the request with the same idempotency key. If it fails again, give your operator the request id.",
    retry: "same key",
  },
  DEPENDENCY_UNAVAILABLE: {
    happened: "A part of kapi cannot be reached at this moment. A change may have been accepted.",
    action:
      "Wait for `Retry-After` seconds, then repeat the request with the same idempotency key: the change happens once.",
    retry: "same key",
  },
};

/** Errors of commands, in `errorCode`. */
export const COMMAND_ERROR_GUIDE: Readonly<Record<CommandErrorCode, ErrorAdvice>> = {
  ACCOUNT_NOT_FOUND: {
    happened: "The account was deleted before the command was carried out.",
    action: "Nothing was done. Check your own record of the account.",
    retry: "never",
  },
  ACCOUNT_NOT_READY: {
    happened: "The account is still being created, or its creation has failed.",
    action:
      "Read its creation command. If it is not final, wait for it, then send the change again. If it failed, create a new account.",
    retry: "new key",
  },
  ACCOUNT_DISABLED: {
    happened: "The account is disabled, and the change is not possible in this state.",
    action: "Enable the account first.",
    retry: "new key",
  },
  ACCOUNT_ARCHIVED: {
    happened: "The account is archived: no login, no trade, no deposit, no withdrawal.",
    action: "Enable the account first.",
    retry: "new key",
  },
  ACCOUNT_HAS_OPEN_POSITIONS: {
    happened: "The account has open positions. After a flatten: some could not be closed before its deadline.",
    action:
      "Wait until they are closed (`positions?status=open&limit=1`), or close them with `flattenAccount`. Then send the change with a new key.",
    retry: "new key",
  },
  INVALID_STATE_TRANSITION: {
    happened:
      "The account cannot go from its present state to the requested one, no risk template matches it, or the server has no room for another risk template. `errorMessage` says which.",
    action: "Read the account or the templates, and decide anew.",
    retry: "new key",
  },
  INSUFFICIENT_FUNDS: {
    happened: "The withdrawal exceeds the lower of balance and free margin.",
    action: "Withdraw less, or wait until positions are closed. Nothing was booked.",
    retry: "new key",
  },
  LEVERAGE_NOT_SUPPORTED: {
    happened: "The trading server does not support this leverage.",
    action: "Choose another leverage of the server's configuration.",
    retry: "new key",
  },
  SERVER_DISABLED: {
    happened: "The server was disabled or removed before the command was carried out.",
    action: "If the server is disabled, enable it in the console, then send the change with a new key.",
    retry: "new key",
  },
  SERVER_UNAVAILABLE: {
    happened: "The server was removed before the deposit, withdrawal or export was carried out. Nothing was done.",
    action: "Use another server.",
    retry: "never",
  },
  REJECTED_BY_SERVER: {
    happened:
      "The trading server rejected the change for a reason of its own, or the command was closed before it was carried out. `errorMessage` says which.",
    action: "Act on the text. The change was not made.",
    retry: "new key",
  },
  INTERNAL: {
    happened: "kapi could not process the command. The change was certainly not made.",
    action: "Give your operator the command id. Send the change again with a new key.",
    retry: "new key",
  },
};

/** Errors of the live stream: codes of messages of the type `error`. */
export const LIVE_ERROR_GUIDE: Readonly<Record<(typeof LIVE_ERROR_CODES)[number], ErrorAdvice>> = {
  INVALID_MESSAGE: {
    happened:
      "A message is not JSON, has an unknown type or an invalid field, or is binary. The connection stays open.",
    action: "Compare the message with the AsyncAPI document.",
    retry: "corrected",
  },
  ACCOUNT_NOT_FOUND: {
    happened: "The account does not exist. The connection stays open.",
    action: "Check server and number. Subscribe to a new account after its creation command succeeded.",
    retry: "never",
  },
  SERVER_ACCESS_DENIED: {
    happened: "The key does not reach the server, or access was removed. The connection stays open.",
    action: "Use a key that reaches the server.",
    retry: "later",
  },
  TOO_MANY_SUBSCRIPTIONS: {
    happened: "The connection has 2,000 subscriptions.",
    action: "Open another connection for further accounts.",
    retry: "later",
  },
};

/** Codes with which the live stream closes a connection (decisions, 10.3). */
export const LIVE_CLOSE_GUIDE: Readonly<Record<keyof typeof LIVE_CLOSE_CODES, ErrorAdvice>> = {
  restart: {
    happened:
      "The process stops: a new release is installed, or the process is moved to another machine. Usually another process is ready.",
    action:
      "Reconnect at once, and subscribe with `afterSequence`. With many connections, spread them over a second. You miss no sample that is still in the window.",
    retry: "reconnect",
  },
  keyRevoked: {
    happened: "The key was revoked, has expired, or has lost the scope `metrics:read`.",
    action: "Stop. Reconnect with another key.",
    retry: "later",
  },
  slowConsumer: {
    happened: "The connection accepted no data for 30 s.",
    action:
      "Reconnect, and subscribe with `afterSequence`. If this happens again, process samples outside of the function that receives them.",
    retry: "reconnect",
  },
  messageTooLarge: {
    happened: "A message of yours was larger than 16 KiB.",
    action: "Send one message for each subscription. Correct the program, then reconnect.",
    retry: "corrected",
  },
};
