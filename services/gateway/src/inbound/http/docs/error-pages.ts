/** Markdown of the pages about errors, from the table of errors and its guide. */
import {
  COMMAND_ERROR_GUIDE,
  type ErrorAdvice,
  type ErrorCode,
  ERRORS,
  HTTP_ERROR_GUIDE,
  LIVE_CLOSE_CODES,
  LIVE_CLOSE_GUIDE,
  LIVE_ERROR_GUIDE,
  type RetryAdvice,
} from "@kapi/contracts";

const RETRY_TEXTS: Readonly<Record<RetryAdvice, string>> = {
  never: "No. The same request fails again.",
  corrected: "Yes, after the correction.",
  "new key":
    "Yes, after the cause is removed, with a new idempotency key such as `payout-4711-2`. The earlier key stays bound to the failed command.",
  "same key": "Yes, with the same idempotency key. The TypeScript client repeats the request for you.",
  reconnect: "Yes: connect again, and subscribe with your stored sequences.",
  later: "Later, after the cause is removed.",
};
/** Statuses below 500 that cost nothing (decisions, 7.1). */
const FREE_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 405, 429]);
/** Codes of the status 404 that cost nothing (decisions, 7.1 and 7.3). */
const FREE_CODES: ReadonlySet<string> = new Set<ErrorCode>(["NOT_FOUND", "WALLET_NOT_FOUND"]);
/** The advice about each close code of the live stream, by the code. */
const CLOSE_GUIDE: Readonly<Record<string, ErrorAdvice>> = Object.fromEntries(
  (Object.keys(LIVE_CLOSE_CODES) as (keyof typeof LIVE_CLOSE_CODES)[]).map((name) => [
    LIVE_CLOSE_CODES[name],
    LIVE_CLOSE_GUIDE[name],
  ]),
);
/** Codes of the console, which no caller of the API meets. */
const CONSOLE_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "CROSS_SITE_REQUEST",
  "MISSING_PERMISSION",
  "VERSION_CHANGED",
]);

/** Every code with a page, in the order of the guides. */
export function errorCodes(): string[] {
  const guides = [HTTP_ERROR_GUIDE, COMMAND_ERROR_GUIDE, LIVE_ERROR_GUIDE, CLOSE_GUIDE];
  const all = guides.flatMap((guide) => Object.keys(guide));
  return [...new Set(all)].filter((code) => !CONSOLE_CODES.has(code));
}

/**
 * Returns the Markdown of the page of a code. The page has a part for each use of the code: HTTP
 * error, error of a command, message of the live stream, close code of the live stream.
 */
export function errorPage(code: string): string {
  const parts = [`# ${code}`];
  const http = HTTP_ERROR_GUIDE[code as ErrorCode] as ErrorAdvice | undefined;
  if (http !== undefined) {
    const { status, text } = ERRORS[code as ErrorCode];
    parts.push(
      "## As the answer to a request",
      adviceOf(http),
      `**Status:** ${statusesOf(code, status)}, with the text “${text}”.`,
      costOf(code, status),
    );
  }
  const command = COMMAND_ERROR_GUIDE[code as keyof typeof COMMAND_ERROR_GUIDE] as ErrorAdvice | undefined;
  if (command !== undefined) {
    parts.push("## As `errorCode` of a command", adviceOf(command), "**Status:** the command is `failed`.");
    parts.push("**Cost:** the price of the command, as for a command that succeeds.");
  }
  const live = LIVE_ERROR_GUIDE[code as keyof typeof LIVE_ERROR_GUIDE] as ErrorAdvice | undefined;
  if (live !== undefined) {
    parts.push("## On the live stream", adviceOf(live), "**Where:** in a message of the type `error`.");
  }
  const close = CLOSE_GUIDE[code];
  if (close !== undefined) parts.push("## As the close code of a live connection", adviceOf(close));
  parts.push("All codes are in [errors](../errors.md).");
  return `${parts.join("\n\n")}\n`;
}

function adviceOf({ happened, action, retry }: ErrorAdvice): string {
  return `**What happened:** ${happened}\n\n**What to do:** ${action}\n\n**Retry:** ${RETRY_TEXTS[retry]}`;
}

function statusesOf(code: string, status: number): string {
  if (code === "IDEMPOTENCY_KEY_REUSED") return "400, or 409 for creations";
  if (code === "ACCOUNT_NOT_FOUND") return "404, or 400 for the immediate deletion";
  return String(status);
}

function costOf(code: string, status: number): string {
  const isFree = FREE_CODES.has(code) || FREE_STATUSES.has(status) || status >= 500;
  return `**Cost:** ${isFree ? "nothing" : "the price of a read"}.`;
}

/** Returns the Markdown tables of all codes, for the page about errors. */
export function errorTables(): string {
  return [
    "### Answers to requests",
    table(HTTP_ERROR_GUIDE, (code) => String(ERRORS[code as ErrorCode].status)),
    "### Commands",
    table(COMMAND_ERROR_GUIDE, () => "command"),
    "### Live stream",
    table(LIVE_ERROR_GUIDE, () => "message"),
    table(CLOSE_GUIDE, () => "close code"),
  ].join("\n\n");
}

function table(guide: Readonly<Record<string, ErrorAdvice>>, where: (code: string) => string): string {
  const rows = Object.entries(guide)
    .filter(([code]) => !CONSOLE_CODES.has(code))
    .map(([code, { retry }]) => `| [${code}](/docs/errors/${code}) | ${where(code)} | ${retry} |`);
  return ["| code | status | retry |", "| --- | --- | --- |", ...rows].join("\n");
}
