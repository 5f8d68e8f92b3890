/** The days of the request log in PostgreSQL. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { ListRequestsQuery, type LoggedRequests } from "@kapi/contracts";
import { uuidV7 } from "@kapi/kernel";
import { migrate, startPool } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment, TestClock } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { RequestLogStore } from "../src/domain/request-log.ts";
import { keepRequestDays, storeRequests } from "../src/operations/store-requests.ts";
import { createRequestLogStore } from "../src/outbound/postgres/request-log.ts";

const DAY_MS = 86_400_000;
const directory = fileURLToPath(new URL("../migrations", import.meta.url));
const logger = createLogger({ service: "test", level: "error" });
const scope = new Scope();
const clock = new TestClock(Date.parse("2026-03-08T10:30:00.000Z"));
let requestLog: RequestLogStore;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const connectionString = environment.postgresUrl;
  await migrate({ connectionString, schema: "console", directory, logger });
  const database = await scope.start("database", () =>
    startPool({ connectionString, schema: "console", applicationName: "test", max: 4, logger }),
  );
  requestLog = createRequestLogStore(database, clock);
});
afterAll(() => scope.stop());

function recordOf(organizationId: string, times: readonly number[], status = 200): LoggedRequests {
  const requests = times.map((atMs) => ({
    id: uuidV7(atMs),
    requestId: "request-1",
    operation: "getCreditBalance",
    method: "GET",
    serverId: null,
    accountNumber: null,
    status,
    errorCode: null,
    durationMs: 3,
    actor: { type: "key" as const, id: "abcdefgh234567ab" },
    address: null,
    creditsCharged: 1,
    commandId: null,
  }));
  return { recordId: randomUUID(), organizationId, requests, omitted: [], keyUses: [] };
}

const list = (organizationId: string, query = {}) => requestLog.list(organizationId, ListRequestsQuery.parse(query));

it("the store of the request log drops all requests of a day after seven days, and accepts requests of the new day", async () => {
  const organizationId = randomUUID();
  await keepRequestDays({ requestLog, clock, logger });
  const startMs = clock.nowMs();
  await storeRequests({ requestLog, clock }, [recordOf(organizationId, [startMs - 6 * DAY_MS, startMs])], 1_000);
  expect((await list(organizationId)).requests).toHaveLength(2);
  clock.advance(DAY_MS);
  await keepRequestDays({ requestLog, clock, logger });
  expect((await list(organizationId)).requests.map(({ at }) => at)).toEqual(["2026-03-08T10:30:00.000Z"]);
  await storeRequests({ requestLog, clock }, [recordOf(organizationId, [clock.nowMs()])], 1_000);
  expect((await list(organizationId)).requests).toHaveLength(2);
  clock.advance(6 * DAY_MS);
  await keepRequestDays({ requestLog, clock, logger });
  expect((await list(organizationId)).requests.map(({ at }) => at)).toEqual(["2026-03-09T10:30:00.000Z"]);
});

it("an organization has a maximum of stored requests a day, of which a fifth is reserved for changes and failures; the list counts the omitted requests", async () => {
  const organizationId = randomUUID();
  await keepRequestDays({ requestLog, clock, logger });
  const times = Array.from({ length: 30 }, (_, index) => clock.nowMs() - 60_000 - index);
  await storeRequests({ requestLog, clock }, [recordOf(organizationId, times)], 20);
  await storeRequests({ requestLog, clock }, [recordOf(organizationId, times, 404)], 20);
  const { requests, omitted } = await list(organizationId);
  expect(requests.filter(({ status }) => status === 200)).toHaveLength(16);
  expect(requests.filter(({ status }) => status === 404)).toHaveLength(4);
  expect(omitted).toEqual({ reads: 14, others: 26 });
});
