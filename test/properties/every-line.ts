/** Whether the usage list has exactly what the answers said. */
import { expect } from "vitest";

import type { Line, LostEntry } from "./credit-reconciliation.ts";
import type { Outcome } from "./credit-requests.ts";

/** What was asked in an organization's name, and what Redis lost meanwhile. */
export interface Heard {
  readonly outcomes: readonly Outcome[];
  /** Usage entries that were in the streams when Redis was emptied. */
  readonly lost: readonly LostEntry[];
  /** In pairs: when an emptying of Redis began and ended. */
  readonly flushedMs: readonly number[];
}

const READ_PRICE = 1;
/**
 * These are refused before anything is charged, and so is every 5xx charged nothing
 * (decisions, 7.1).
 */
const UNBILLED = new Set([401, 402, 403, 429]);

/**
 * - A command that was answered 202 is one line, with its price; and with its operation and the id
 *   of one of the requests that asked for it, unless that entry was lost: then command-status
 *   reported of the reservation.
 * - Every other answered request is lines of its id that sum up to what its answer says, of its
 *   operation; one line, but for a change that its owner refused. Of those whose entry was lost,
 *   lines may be missing.
 * - Of a request without an answer, or answered 5xx, or under way while Redis was emptied, nobody
 *   knows; it is never charged more than its price.
 * - There are no other lines.
 */
export function expectEveryLine(heard: Heard, lines: readonly Line[]): void {
  const known = new Set(heard.outcomes.map(({ requestId }) => requestId));
  const byRequest = Map.groupBy(lines, ({ requestId }) => requestId);
  const byCommand = Map.groupBy(lines, ({ commandId }) => commandId);
  const wrong: unknown[] = [];
  for (const outcome of heard.outcomes) {
    const own = (byRequest.get(outcome.requestId) ?? []).filter(({ commandId }) => commandId === null);
    const finding = outcome.queued.length > 0 ? null : findingOfConsumed(heard, outcome, own);
    if (finding !== null) wrong.push({ finding, outcome, own });
    for (const commandId of outcome.queued) {
      const ofCommand = byCommand.get(commandId) ?? [];
      const finding = findingOfReserved(heard, outcome, ofCommand);
      if (finding !== null) wrong.push({ finding, outcome, ofCommand });
    }
  }
  for (const line of lines) {
    const explained = line.requestId === null ? line.commandId !== null : known.has(line.requestId);
    if (!explained) wrong.push({ finding: "a line of no request", line });
  }
  expect(wrong).toEqual([]);
}

function findingOfReserved(heard: Heard, outcome: Outcome, lines: readonly Line[]): string | null {
  const [line, ...more] = lines;
  if (line === undefined) return "a queued command has no line";
  if (more.length > 0) return "a command has more than one line";
  if (line.kind !== "reserve" || line.credits !== outcome.wanted.price) return "a command's line is not its price";
  const entryLost = heard.lost.some(({ chargeId }) => chargeId === line.chargeId);
  if (line.requestId === null) return entryLost ? null : "a command's line does not know its request";
  const asked = heard.outcomes.filter(({ wanted }) => wanted.key === outcome.wanted.key);
  if (!asked.some(({ requestId }) => requestId === line.requestId)) return "a command's line is of another request";
  return line.operation === outcome.wanted.operation ? null : "a command's line is of another operation";
}

function findingOfConsumed(heard: Heard, outcome: Outcome, own: readonly Line[]): string | null {
  const sum = own.reduce((total, { credits }) => total + credits, 0);
  const taken = own.filter(({ credits }) => credits > 0);
  const refused = own.some(({ kind }) => kind === "refund");
  if (taken.length > (refused ? 2 : 1)) return "a request was charged twice";
  if (own.some(({ operation }) => operation !== outcome.wanted.operation)) return "a line is of another operation";
  if (isUncertain(heard, outcome))
    return sum > outcome.wanted.price + READ_PRICE ? "a request was charged too much" : null;
  if (heard.lost.some(({ requestId }) => requestId === outcome.requestId)) return null;
  if (outcome.charged !== priceOf(outcome)) return `a request should have cost ${priceOf(outcome)}`;
  return sum === outcome.charged ? null : `a request's lines are ${sum}, not ${outcome.charged}`;
}

/** What an answered request that queued nothing costs (decisions, 7.1). */
function priceOf({ wanted, status, charged }: Outcome): number {
  if (status === null || UNBILLED.has(status)) return 0;
  // A duplicate, and a change that its owner refused, cost the read price where it is there.
  const refused = status >= 400 && wanted.method === "PATCH";
  if (refused || (wanted.key !== undefined && status < 300)) return charged === 0 ? 0 : READ_PRICE;
  return status >= 400 ? READ_PRICE : wanted.price;
}

function isUncertain({ flushedMs }: Heard, { status, sentMs, answeredMs }: Outcome): boolean {
  if (status === null || status >= 500) return true;
  return flushedMs.some((ms, index) => index % 2 === 0 && ms <= answeredMs && (flushedMs[index + 1] ?? ms) >= sentMs);
}
