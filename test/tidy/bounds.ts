/**
 * The limits of the code on stored data and data in memory, found by their names. A new limit needs
 * a row in `docs/reference/bounds.md`, or an exception here with its reason.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const FOLDERS = ["services", "libs"];
/** The names of constants that are limits. */
const LIMIT = /^(?:export )?const ((?:\w+_)?(?:MAX|KEPT|TTL)(?:_\w+)?|\w+_(?:LIMIT|BUDGET)(?:_\w+)?)(?:: [^=]+)? =/gm;
/** The names of settings that are limits. */
const SETTING = /^\s+((?:\w+_)?(?:MAX|KEPT|TTL|LIMIT|BUDGET)(?:_\w+)?|\w+_PER_ORGANIZATION): configFields\b/gm;

/**
 * Code that does not run in production, only describes single requests and records, or runs in the
 * programs of users.
 */
const WITHOUT_BOUNDS = /^libs\/(?:testkit|servers|contracts|client)\//;

/**
 * Names of limits that are not on stored data or data in memory. These patterns do not exempt a
 * name with `TTL` or `KEPT`.
 */
const KINDS: readonly RegExp[] = [
  // Times of waiting, and ages.
  /_(?:MS|S|SECONDS|MINUTES)$/,
  // The size of one call or batch. Data that waits for the call or batch has a separate limit.
  /BATCH|_PER_\w*(?:CALL|CHECK|INSERT|LOAD|LOOK|STATEMENT|TRY)$|_EACH$/,
  // Concurrent calls.
  /_(?:TOGETHER|AT_ONCE)$|^MAX_(?:CONCURRENT|PARALLEL)/,
  // Tries before the code gives up.
  /_(?:TRIES|RESENDS|ATTEMPTS|ERRORS|FAILURES|REDIRECTIONS|PINGS)$/,
  // The length of one text.
  /^MAX_\w+_(?:CHARACTERS|LENGTH)$/,
];
const RETENTION = /(?:^|_)(?:TTL|KEPT)(?:_|$)/;

/** Further limits that are not on stored data or data in memory, as `<file> <name>`. */
const NO_BOUNDS: Readonly<Record<string, readonly string[]>> = {
  "the size of one request, answer, call or unit": [
    "libs/admission/src/admission.ts MAX_RECORDS",
    "libs/http/src/body.ts MAX_DRAINED_BYTES",
    "libs/http/src/parse.ts MAX_ISSUES",
    "libs/outbox/src/limits.ts POLL_MAX_BYTES",
    "libs/trading-server/src/contract.ts MAX_HISTORY_LIMIT",
    "libs/trading-server/src/event-feed/booking-queue.ts MAX_UNIT_EVENTS",
    "services/account/src/operations/delete-trading-account-immediately.ts MAX_DUE",
    "services/command-status/src/operations/list-commands.ts MAX_WHOLE_BYTES",
    "services/command-status/src/outbound/postgres/command-repository.ts MAX_LARGE_BYTES",
    "services/console/src/operations/search.ts MAX_RESULTS",
    "services/console/src/operations/search.ts MAX_SERVERS",
    "services/metrics/src/domain/acceptance-rule.ts MAX_FRAME_BYTES",
    "services/metrics/src/inbound/ws/subscription-hub.ts MAX_PIECE_BYTES",
    "services/metrics/src/inbound/ws/live-server.ts MAX_MESSAGE_BYTES",
    "services/metrics/src/outbound/postgres/snapshot-store.ts MAX_ROWS",
    "services/risk/src/operations/apply-risk-templates.ts MAX_INACTIVE_VERSIONS",
    "services/risk/src/operations/evaluator.ts MAX_ACTIVATIONS",
    "services/risk/src/outbound/postgres/evaluation-store.ts MAX_STATES",
    "services/risk/src/domain/evidence.ts MAX_VALUATIONS",
    "services/risk/src/domain/evidence.ts MAX_SAMPLES",
    "services/risk/src/operations/delete-old-evidence.ts MAX_DELETED",
    "services/console/src/outbound/http/organization.ts MAX_KEYS",
    "services/console/src/outbound/http/organization.ts MAX_SERVERS",
    "services/console/src/outbound/postgres/request-log.ts MAX_SEARCHED_REQUESTS",
    "services/organization/src/operations/credits/record-settlements.ts MAX_USAGE_PER_SHARD",
    "services/trading-simulator/src/domain/changes.ts MAX_LISTED",
    "services/trading-simulator/src/domain/market.ts MAX_QUOTES_PER_TICK",
    "services/trading-simulator/src/inbound/http/control-schemas.ts MAX_TICKS",
    "services/webhooks/src/operations/list-events.ts MAX_SCANNED_POSITIONS",
    "services/webhooks/src/outbound/http/sender.ts MAX_REPLY_BYTES",
  ],
  "calls at once": [
    "libs/trading-server/src/event-feed/booking-queue.ts MAX_UNITS",
    "libs/trading-server/src/event-feed/gap-filler.ts MAX_FILLS",
    "services/account/src/operations/change-trading-accounts.ts MAX_CATCH_UPS",
    "services/finance/src/operations/reconcile.ts MAX_CALLS",
    "services/console/src/outbound/passwords.ts MAX_RUNNING",
  ],
  "the smallest or largest allowed value": [
    "libs/postgres/src/statement.ts MAX_NAME_BYTES",
    "libs/runtime/src/config-fields.ts MAX_PORT",
    "libs/runtime/src/redaction.ts MAX_DEPTH",
    "services/command-status/src/config.ts MAX_KEPT_MONTHS",
    "services/command-status/src/config.ts MIN_KEPT_MONTHS",
    "services/metrics/src/domain/topic-position.ts MAX_GENERATION",
    "services/metrics/src/inbound/kafka/valuations.ts MAX_OFFSET",
    "services/metrics/src/inbound/ws/subscription-hub.ts NOTHING_KEPT",
    "services/organization/src/config.ts MAX_KEPT_MONTHS",
    "services/organization/src/config.ts MIN_KEPT_MONTHS",
    "services/trading-simulator/src/domain/account.ts MAX_BALANCE_MINOR",
    "services/trading-simulator/src/domain/symbols.ts MAX_VOLUME",
    "services/webhooks/src/config.ts MAX_PORT",
  ],
  "when or how often something is done, counted or logged": [
    "libs/admission/src/request-log.ts MAX_LOGGED_CHANGES_PER_SECOND",
    "libs/admission/src/request-log.ts MAX_LOGGED_READS_PER_SECOND",
    "libs/trading-server/src/event-feed/gap-filler.ts MAX_COUNTED",
    "services/account/src/outbound/postgres/server-repository.ts MAX_CONFIGURE_ROUNDS",
    "services/finance/src/operations/reconcile.ts MAX_LOGGED_DIFFERENCES",
    "services/metrics/src/config.ts MAX_MESSAGES_PER_SECOND",
    "services/metrics/src/domain/sample-windows.ts MAX_FREED_PER_NEW_SLAB",
    "services/metrics/src/inbound/ws/subscription-hub.ts MAX_UNSENT",
    "services/organization/src/operations/credits/check-drift.ts MAX_WHOLE_LINES",
    "services/organization/src/outbound/postgres/credits/usage-lines.ts MAX_RESERVED_DAYS",
    "services/trading-simulator/src/domain/auto-trader.ts MAX_WAITING_ORDERS",
    "services/trading-simulator/src/operations/run-market.ts MAX_MISSED_NIGHTS",
    "services/webhooks/src/operations/record-events.ts MAX_LOGGED_RANGES",
    "services/webhooks/src/service.ts MAX_COUNTED",
  ],
};

/** The limits of the code, each as `<file> <name>`. */
export interface CodeLimits {
  /** Limits on stored data and data in memory: each needs a row on the page. */
  readonly bounds: readonly string[];
  /** Exceptions without a constant or setting in the code. */
  readonly needless: readonly string[];
}

/** The limits of all services and libraries below `root`: constants, and settings of processes. */
export function limitsOfCode(root: string): CodeLimits {
  const places = FOLDERS.flatMap((folder) => sourcesIn(root, folder)).flatMap((file) => {
    const text = readFileSync(path.join(root, file), "utf8");
    const found = [...text.matchAll(LIMIT), ...text.matchAll(SETTING)];
    return found.map(([, name = ""]) => ({ place: `${file} ${name}`, name }));
  });
  const exceptions = new Set(Object.values(NO_BOUNDS).flat());
  const isBound = ({ place, name }: { place: string; name: string }): boolean =>
    !exceptions.has(place) && (RETENTION.test(name) || !KINDS.some((names) => names.test(name)));
  const known = new Set(places.map(({ place }) => place));
  return {
    bounds: places.filter(isBound).map(({ place }) => place),
    needless: [...exceptions].filter((place) => !known.has(place)),
  };
}

/**
 * The TypeScript files in the `src` folders below `folder`, without tests and
 * {@link WITHOUT_BOUNDS}.
 */
function sourcesIn(root: string, folder: string): string[] {
  return readdirSync(path.join(root, folder)).flatMap((member) =>
    readdirSync(path.join(root, folder, member, "src"), { recursive: true, encoding: "utf8" })
      .map((file) => path.posix.join(folder, member, "src", file))
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !WITHOUT_BOUNDS.test(file)),
  );
}
