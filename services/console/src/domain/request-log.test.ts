import type { LoggedRequest, LoggedRequests } from "@kapi/contracts";
import { uuidV7 } from "@kapi/kernel";
import { describe, expect, it } from "vitest";

import { dayKey, keptDays, rowsToStore } from "./request-log.ts";

const ORGANIZATION = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a01";
const NOW_MS = Date.parse("2026-03-08T10:30:00.000Z");
const TODAY = "2026-03-08";
const DAY_MS = 86_400_000;
const days = keptDays(NOW_MS);

function requestOf(fields: Partial<LoggedRequest> = {}, agoMs = 0): LoggedRequest {
  return {
    id: uuidV7(NOW_MS - agoMs),
    requestId: "request-1",
    operation: "getCreditBalance",
    method: "GET",
    serverId: null,
    accountNumber: null,
    status: 200,
    errorCode: null,
    durationMs: 3,
    actor: { type: "key", id: "abcdefgh234567ab" },
    address: null,
    creditsCharged: 1,
    commandId: null,
    ...fields,
  };
}

function recordOf(fields: Partial<LoggedRequests>): LoggedRequests {
  const recordId = "7d0c54a5-1a43-4a2b-8c2e-52d9a0c8b001";
  return { recordId, organizationId: ORGANIZATION, requests: [], omitted: [], keyUses: [], ...fields };
}

const times = (count: number, make: () => LoggedRequest): LoggedRequest[] => Array.from({ length: count }, make);

describe("the days of the request log", () => {
  it("are today, the six days before and the two days after", () => {
    expect(days).toHaveLength(9);
    expect([days[0], days[6], days.at(-1)]).toEqual(["2026-03-02", TODAY, "2026-03-10"]);
  });
});

describe("the rows to store", () => {
  it("leave out requests of days that are not kept", () => {
    const requests = [requestOf({}, 7 * DAY_MS), requestOf({}, 6 * DAY_MS), requestOf()];
    const rows = rowsToStore([recordOf({ requests })], { days, stored: new Map(), maxPerDay: 100 });
    expect(rows.requests.map(({ day }) => day)).toEqual(["2026-03-02", TODAY]);
    expect(rows.requests[1]).toMatchObject({ organizationId: ORGANIZATION, at: "2026-03-08T10:30:00.000Z" });
  });

  it("include failed requests but no successful reads after the stored requests reach 80 % of a day's limit", () => {
    const requests = [...times(10, () => requestOf()), ...times(10, () => requestOf({ status: 402 }))];
    const stored = new Map([[dayKey(ORGANIZATION, TODAY), 75]]);
    const rows = rowsToStore([recordOf({ requests })], { days, stored, maxPerDay: 90 });
    expect(rows.requests.filter(({ request }) => request.status === 200)).toHaveLength(0);
    expect(rows.requests.filter(({ request }) => request.status === 402)).toHaveLength(10);
    expect(rows.omitted).toMatchObject([{ day: TODAY, minute: "2026-03-08T10:30:00.000Z", reads: 10, others: 0 }]);
  });

  it("never exceed the limit of a day, and count the requests above it with those that the gateway left out", () => {
    const minute = "2026-03-08T10:30:00.000Z";
    const requests = times(30, () => requestOf({ method: "POST", status: 202 }));
    const records = [recordOf({ requests, omitted: [{ minute, reads: 7, others: 1 }] })];
    const rows = rowsToStore(records, { days, stored: new Map([[dayKey(ORGANIZATION, TODAY), 80]]), maxPerDay: 90 });
    expect(rows.requests).toHaveLength(10);
    expect(rows.omitted).toMatchObject([{ minute, reads: 7, others: 21 }]);
  });

  it("have one use of each key, the newest", () => {
    const use = (at: string) => ({ keyId: "abcdefgh234567ab", at, address: null });
    const records = [
      recordOf({ keyUses: [use("2026-03-08T10:00:00.000Z")] }),
      recordOf({ keyUses: [use("2026-03-08T10:05:00.000Z")] }),
      recordOf({ keyUses: [use("2026-03-08T10:01:00.000Z")] }),
    ];
    const { keyUses } = rowsToStore(records, { days, stored: new Map(), maxPerDay: 100 });
    expect(keyUses).toMatchObject([{ at: "2026-03-08T10:05:00.000Z" }]);
  });
});
