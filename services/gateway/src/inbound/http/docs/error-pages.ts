/** Markdown of the pages about errors, from the table of errors and its guide. */
import {
  COMMAND_ERROR_GUIDE,
  type ErrorAdvice,
  type ErrorCode,
  ERRORS,
  HTTP_ERROR_GUIDE,
  LIVE_ERROR_GUIDE,
  type RetryAdvice,
} from "@kapi/contracts";

const RETRY_TEXTS: Readonly<Record<RetryAdvice, string>> = {
  never: "No. The same request fails again.",
  corrected: "Yes, corrected.",
  "same key": "Yes, with the same idempotency key. The client of this documentation does it for you.",
  later: "Later, after the cause is removed.",
};
/** Statuses that cost nothing (decisions, 7.1). */
const FREE_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 405, 429]);
/** Codes of the console, which no caller of the API meets. */
const CONSOLE_CODES: ReadonlySet<string> = new Set<ErrorCode>(["CROSS_SITE_REQUEST"]);

/** Every code with a page, in the order of the table. */
export function errorCodes(): string[] {
  const all = [...Object.keys(HTTP_ERROR_GUIDE), ...Object.keys(COMMAND_ERROR_GUIDE), ...Object.keys(LIVE_ERROR_GUIDE)];
  return [...new Set(all)].filter((code) => !CONSOLE_CODES.has(code));
}

/**
 * The page of a code, which can come as an HTTP error, as a command's error and on the live stream.
 */
export function errorPage(code: string): string {
  const parts = [`# ${code}`];
  const http = HTTP_ERROR_GUIDE[code as ErrorCode] as ErrorAdvice | undefined;
  if (http !== undefined) {
    const { status, text } = ERRORS[code as ErrorCode];
    parts.push(
      "## As the answer to a request",
      `HTTP ${statusesOf(code, status)}: “${text}”`,
      adviceOf(http),
      costOf(status),
    );
  }
  const command = COMMAND_ERROR_GUIDE[code as keyof typeof COMMAND_ERROR_GUIDE] as ErrorAdvice | undefined;
  if (command !== undefined) {
    parts.push("## As `errorCode` of a command", "The command is `failed`.", adviceOf(command));
    parts.push("**Cost:** the price of the command: it was carried out up to its rejection.");
  }
  const live = LIVE_ERROR_GUIDE[code as keyof typeof LIVE_ERROR_GUIDE] as ErrorAdvice | undefined;
  if (live !== undefined) parts.push("## On the live stream", "A message of the type `error`.", adviceOf(live));
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

function costOf(status: number): string {
  const isFree = FREE_STATUSES.has(status) || status >= 500;
  return `**Cost:** ${isFree ? "nothing" : "the price of a read"}.`;
}

/** The tables of all codes, for the page about errors. */
export function errorTables(): string {
  return [
    "### Answers to requests",
    table(HTTP_ERROR_GUIDE, (code) => String(ERRORS[code as ErrorCode].status)),
    "### Commands",
    table(COMMAND_ERROR_GUIDE, () => "command"),
    "### Live stream",
    table(LIVE_ERROR_GUIDE, () => "message"),
  ].join("\n\n");
}

function table(guide: Readonly<Record<string, ErrorAdvice>>, where: (code: string) => string): string {
  const rows = Object.entries(guide)
    .filter(([code]) => !CONSOLE_CODES.has(code))
    .map(([code, { retry }]) => `| [${code}](/docs/errors/${code}) | ${where(code)} | ${retry} |`);
  return ["| code | status | retry |", "| --- | --- | --- |", ...rows].join("\n");
}
