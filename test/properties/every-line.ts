/** Compares the usage list with the responses. */
import { expect } from "vitest";

import type { Line, LostEntry } from "./credit-reconciliation.ts";
import type { Outcome } from "./credit-requests.ts";

/** The outcomes of an organization's requests, and the usage entries that Redis lost. */
export interface Observations {
  readonly outcomes: readonly Outcome[];
  /** Usage entries that were in the streams when Redis was emptied. */
  readonly lost: readonly LostEntry[];
  /** In pairs: the times before and after each emptying of Redis. */
  readonly flushedMs: readonly number[];
}

const READ_PRICE = 1;
/**
 * Requests with these statuses are rejected before they are charged. Responses 5xx cost nothing
 * either (decisions, 7.1), but this test treats their requests as uncertain.
 */
const UNBILLED = new Set([401, 402, 403, 429]);

/**
 * - A command with response 202 has one line with the price of the command. The line has the
 *   command's operation, and the id of one of the requests with the command's key. If the usage
 *   entry of the line was lost, the line may be made from the data of the command. It then has no
 *   request id.
 * - The response of any other request names the price of {@link priceOf}. The lines of the request
 *   have its request id and operation, and their credits add up to this price. A change that its
 *   owner rejected has at most three lines: the charge, its refund and the read price. Any other
 *   request has at most one line. Lines whose entry was lost may be missing.
 * - A request is uncertain if it got no response, got 5xx or was running while Redis was emptied.
 *   Such a request is never charged more than its price plus the read price.
 * - Every line has the id of a request that was sent. Only a line of a command whose entry was lost
 *   may have no id.
 */
export function expectEveryLine(observations: Observations, lines: readonly Line[]): void {
  const known = new Set(observations.outcomes.map(({ requestId }) => requestId));
  const byRequest = Map.groupBy(lines, ({ requestId }) => requestId);
  const byCommand = Map.groupBy(lines, ({ commandId }) => commandId);
  const wrong: unknown[] = [];
  for (const outcome of observations.outcomes) {
    const own = (byRequest.get(outcome.requestId) ?? []).filter(({ commandId }) => commandId === null);
    const violation = outcome.queued.length > 0 ? null : violationOfConsumed(observations, outcome, own);
    if (violation !== null) wrong.push({ violation, outcome, own });
    for (const commandId of outcome.queued) {
      const ofCommand = byCommand.get(commandId) ?? [];
      const violation = violationOfReserved(observations, outcome, ofCommand);
      if (violation !== null) wrong.push({ violation, outcome, ofCommand });
    }
  }
  for (const line of lines) {
    const explained =
      line.requestId === null ? line.commandId !== null && isLost(observations, line) : known.has(line.requestId);
    if (!explained) wrong.push({ violation: "a line that belongs to no request", line });
  }
  expect(wrong).toEqual([]);
}

function violationOfReserved(observations: Observations, outcome: Outcome, lines: readonly Line[]): string | null {
  const [line, ...more] = lines;
  if (line === undefined) return "a queued command has no line";
  if (more.length > 0) return "a command has more than one line";
  if (line.kind !== "reserve" || line.credits !== outcome.request.price) return "a command's line has another price";
  if (line.requestId === null) return isLost(observations, line) ? null : "a command's line has no request id";
  const requests = observations.outcomes.filter(({ request }) => request.key === outcome.request.key);
  if (!requests.some(({ requestId }) => requestId === line.requestId))
    return "a command's line belongs to another request";
  return line.operation === outcome.request.operation ? null : "a command's line has another operation";
}

function violationOfConsumed(observations: Observations, outcome: Outcome, own: readonly Line[]): string | null {
  const sum = own.reduce((total, { credits }) => total + credits, 0);
  const taken = own.filter(({ credits }) => credits > 0);
  const refused = own.some(({ kind }) => kind === "refund");
  if (taken.length > (refused ? 2 : 1)) return "a request was charged twice";
  if (own.some(({ operation }) => operation !== outcome.request.operation)) return "a line has another operation";
  if (isUncertain(observations, outcome))
    return sum > outcome.request.price + READ_PRICE ? "a request was charged too much" : null;
  if (observations.lost.some(({ requestId }) => requestId === outcome.requestId)) return null;
  if (outcome.charged !== priceOf(outcome)) return `a request should have cost ${priceOf(outcome)}`;
  return sum === outcome.charged ? null : `a request's lines add up to ${sum}, not ${outcome.charged}`;
}

/** The price of a request that queued no command (decisions, 7.1). */
function priceOf({ request, status, charged }: Outcome): number {
  if (status === null || UNBILLED.has(status)) return 0;
  // A duplicate, or a change that its owner rejected, costs the read price or is free.
  const refused = status >= 400 && request.method === "PATCH";
  if (refused || (request.key !== undefined && status < 300)) return charged === 0 ? 0 : READ_PRICE;
  return status >= 400 ? READ_PRICE : request.price;
}

/** Whether the usage entry of the line was lost when Redis was emptied. */
function isLost({ lost }: Observations, line: Line): boolean {
  return lost.some(({ chargeId }) => chargeId === line.chargeId);
}

function isUncertain({ flushedMs }: Observations, { status, sentMs, answeredMs }: Outcome): boolean {
  if (status === null || status >= 500) return true;
  return flushedMs.some((ms, index) => index % 2 === 0 && ms <= answeredMs && (flushedMs[index + 1] ?? ms) >= sentMs);
}
