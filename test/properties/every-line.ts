/** Whether the usage list tells exactly what callers were told. */
import { expect } from "vitest";

import type { Line, LostEntry } from "./credit-reconciliation.ts";
import type { Told } from "./credit-requests.ts";

/** What was asked in an organization's name, and what Redis lost meanwhile. */
export interface Heard {
  readonly told: readonly Told[];
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
 *   of one of the requests that asked for it, unless that entry was lost: then command-status told
 *   of the reservation.
 * - Every other answered request is lines of its id that sum up to what its answer says, of its
 *   operation; one line, but for a change that its owner refused. Of those whose entry was lost,
 *   lines may be missing.
 * - Of a request without an answer, or answered 5xx, or under way while Redis was emptied, nobody
 *   knows; it is never charged more than its price.
 * - There are no other lines.
 */
export function expectEveryLine(heard: Heard, lines: readonly Line[]): void {
  const known = new Set(heard.told.map(({ requestId }) => requestId));
  const byRequest = Map.groupBy(lines, ({ requestId }) => requestId);
  const byCommand = Map.groupBy(lines, ({ commandId }) => commandId);
  const wrong: unknown[] = [];
  for (const told of heard.told) {
    const own = (byRequest.get(told.requestId) ?? []).filter(({ commandId }) => commandId === null);
    const finding = told.queued.length > 0 ? null : findingOfConsumed(heard, told, own);
    if (finding !== null) wrong.push({ finding, told, own });
    for (const commandId of told.queued) {
      const ofCommand = byCommand.get(commandId) ?? [];
      const finding = findingOfReserved(heard, told, ofCommand);
      if (finding !== null) wrong.push({ finding, told, ofCommand });
    }
  }
  for (const line of lines) {
    const explained = line.requestId === null ? line.commandId !== null : known.has(line.requestId);
    if (!explained) wrong.push({ finding: "a line of no request", line });
  }
  expect(wrong).toEqual([]);
}

function findingOfReserved(heard: Heard, told: Told, lines: readonly Line[]): string | null {
  const [line, ...more] = lines;
  if (line === undefined) return "a queued command has no line";
  if (more.length > 0) return "a command has more than one line";
  if (line.leg !== "reserve" || line.credits !== told.wanted.price) return "a command's line is not its price";
  const entryLost = heard.lost.some(({ chargeId }) => chargeId === line.chargeId);
  if (line.requestId === null) return entryLost ? null : "a command's line does not know its request";
  const asked = heard.told.filter(({ wanted }) => wanted.key === told.wanted.key);
  if (!asked.some(({ requestId }) => requestId === line.requestId)) return "a command's line is of another request";
  return line.operation === told.wanted.operation ? null : "a command's line is of another operation";
}

function findingOfConsumed(heard: Heard, told: Told, own: readonly Line[]): string | null {
  const sum = own.reduce((total, { credits }) => total + credits, 0);
  const taken = own.filter(({ credits }) => credits > 0);
  const refused = own.some(({ leg }) => leg === "refund");
  if (taken.length > (refused ? 2 : 1)) return "a request was charged twice";
  if (own.some(({ operation }) => operation !== told.wanted.operation)) return "a line is of another operation";
  if (isUncertain(heard, told)) return sum > told.wanted.price + READ_PRICE ? "a request was charged too much" : null;
  if (heard.lost.some(({ requestId }) => requestId === told.requestId)) return null;
  if (told.charged !== priceOf(told)) return `a request should have cost ${priceOf(told)}`;
  return sum === told.charged ? null : `a request's lines are ${sum}, not ${told.charged}`;
}

/** What an answered request that queued nothing costs (decisions, 7.1). */
function priceOf({ wanted, status, charged }: Told): number {
  if (status === null || UNBILLED.has(status)) return 0;
  // A duplicate, and a change that its owner refused, cost the read price where it is there.
  const refused = status >= 400 && wanted.method === "PATCH";
  if (refused || (wanted.key !== undefined && status < 300)) return charged === 0 ? 0 : READ_PRICE;
  return status >= 400 ? READ_PRICE : wanted.price;
}

function isUncertain({ flushedMs }: Heard, { status, sentMs, answeredMs }: Told): boolean {
  if (status === null || status >= 500) return true;
  return flushedMs.some((ms, index) => index % 2 === 0 && ms <= answeredMs && (flushedMs[index + 1] ?? ms) >= sentMs);
}
