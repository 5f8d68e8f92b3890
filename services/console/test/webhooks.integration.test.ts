/**
 * Webhooks in the console: the console passes on answers of the webhooks service, only for the
 * person's own organization.
 */
import { randomUUID } from "node:crypto";

import { AuditAnswer, type AuditEvent } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Browser, type ConsoleHarness, PASSWORD, type ConsoleUser, startConsoleHarness } from "./harness.ts";

const ADDRESS = "203.0.113.77";
const URL_OF_RECEIVER = "https://receiver.example.com/hook";

let harness: ConsoleHarness;
let person: ConsoleUser;
let browser: Browser;
let endpointId: string;
beforeAll(async () => {
  harness = await startConsoleHarness();
  person = await harness.person();
  browser = harness.browser(ADDRESS);
  await browser.signIn(person.email, PASSWORD);
  const created = await browser.ask("POST", "/webhooks", { url: URL_OF_RECEIVER });
  expect(created).toMatchObject({ status: 201, body: { secret: "whsec_once", endpoint: { url: URL_OF_RECEIVER } } });
  endpointId = (created.body as { endpoint: { id: string } }).endpoint.id;
});
afterAll(() => harness.stop());

/**
 * Every route of an endpoint. `below` is the path under the endpoint, in the console and in the
 * webhooks service.
 */
function routes(): { method: string; below: string; body?: object; status: number }[] {
  const deliveries = `/deliveries/${randomUUID()}/redeliver`;
  return [
    { method: "GET", below: "", status: 200 },
    { method: "PATCH", below: "", body: { status: "disabled" }, status: 200 },
    { method: "POST", below: "/rotate-secret", status: 200 },
    { method: "POST", below: "/test", status: 202 },
    { method: "POST", below: "/replay", body: { since: "2026-01-01T00:00:00.000Z" }, status: 202 },
    { method: "GET", below: "/deliveries", status: 200 },
    { method: "POST", below: deliveries, status: 202 },
    { method: "DELETE", below: "", status: 200 },
  ];
}

describe("a person's webhook endpoints", () => {
  it("are requested from the webhooks service with the organization of the session; the console returns the answer of the webhooks service unchanged", async () => {
    expect((await browser.ask("GET", "/webhooks")).body).toEqual({ endpoints: [{ id: endpointId }] });
    for (const { method, below, body, status } of routes()) {
      const answer = await browser.ask(method, `/webhooks/${endpointId}${below}`, body);
      const caller = { actor: { type: "user", id: person.userId }, address: ADDRESS };
      expect(answer).toMatchObject({ status, body: { method, below: below.slice(1), body: body ?? null, caller } });
    }
    const query = "page=2&limit=50&status=failed&type=position.closed";
    const { body } = await browser.ask("GET", `/webhooks/${endpointId}/deliveries?${query}&other=1`);
    expect(body["query"]).toEqual({ page: "2", limit: "50", status: "failed", type: "position.closed" });
    expect(harness.standIns.endpoints.get(endpointId)).toMatchObject({
      organizationId: person.organizationId,
      asked: { url: URL_OF_RECEIVER, kinds: null, serverIds: null },
    });
  });

  it("are rejected with the text of the webhooks service if that service refuses the URL; a malformed request is rejected with the name of the field", async () => {
    const refused = await browser.ask("POST", "/webhooks", { url: "http://receiver.example.com" });
    expect(refused).toMatchObject({ status: 400, body: { error: "The address cannot be used: no" } });
    expect(refused.headers.get("x-error-code")).toBe("WEBHOOK_URL_REFUSED");
    const unknown = await browser.ask("POST", "/webhooks", { url: URL_OF_RECEIVER, kinds: ["everything"] });
    expect(unknown).toMatchObject({ status: 400, body: { issues: [{ path: ["kinds", 0] }] } });
    expect((await browser.ask("PATCH", `/webhooks/${endpointId}`, {})).status).toBe(400);
    expect((await browser.ask("GET", `/webhooks/${endpointId}/deliveries?limit=1000`)).status).toBe(400);
  });

  it("are not found by another organization: every route returns 404; without a session, every route returns 401", async () => {
    const other = await harness.signedIn(await harness.person());
    const nobody = harness.browser();
    for (const { method, below, body = method === "GET" ? undefined : {} } of routes()) {
      const path = `/webhooks/${endpointId}${below}`;
      expect([path, (await other.ask(method, path, body)).status]).toEqual([path, 404]);
      expect([path, (await nobody.ask(method, path, body)).status]).toEqual([path, 401]);
    }
    expect((await other.ask("GET", "/webhooks")).body).toEqual({ endpoints: [] });
    const asOurs = { url: URL_OF_RECEIVER, organizationId: person.organizationId };
    await other.ask("POST", `/webhooks?organizationId=${person.organizationId}`, asOurs);
    expect((await browser.ask("GET", "/webhooks")).body).toEqual({ endpoints: [{ id: endpointId }] });
  });

  it("return 404 for malformed ids, without a request to the webhooks service", async () => {
    harness.standIns.asked.length = 0;
    const elsewhere = encodeURIComponent(`../../${randomUUID()}/webhooks`);
    for (const id of ["some", elsewhere, `${endpointId}%2F..`]) {
      expect((await browser.ask("GET", `/webhooks/${id}`)).status).toBe(404);
      expect((await browser.ask("POST", `/webhooks/${endpointId}/deliveries/${id}/redeliver`)).status).toBe(404);
    }
    expect(harness.standIns.asked).toEqual([]);
  });

  it("cannot be tested without the CSRF token of the session", async () => {
    const without = await browser.ask("POST", `/webhooks/${endpointId}/test`, undefined, { "x-csrf-token": "" });
    expect(without.status).toBe(403);
  });
});

it("while the webhooks service is unavailable, the console answers 500 for webhooks, and other pages work", async () => {
  harness.standIns.webhooksUnavailable = true;
  try {
    const answer = await browser.ask("GET", "/webhooks");
    expect(answer).toMatchObject({ status: 500, body: { error: "Internal server error" } });
    expect(answer.headers.get("x-error-code")).toBe("DEPENDENCY_UNAVAILABLE");
    expect((await browser.ask("GET", "/keys")).status).toBe(200);
  } finally {
    harness.standIns.webhooksUnavailable = false;
  }
});

it("audit entries of another service reach the audit log once, and are then deleted from the outbox of that service", async () => {
  const event = (action: AuditEvent["action"]): AuditEvent => ({
    eventId: randomUUID(),
    organizationId: person.organizationId,
    at: "2026-03-02T10:05:00.000Z",
    action,
    actor: { type: "user", id: person.userId },
    address: ADDRESS,
    subject: { type: "webhook", id: endpointId },
    details: { receiver: "https://receiver.example.com" },
  });
  const [created, deleted] = [event("webhook.created"), event("webhook.deleted")];
  const { auditEvents } = harness.standIns;
  // The first event is of a later release, and must not block the events after it.
  const later = { ...created, eventId: randomUUID(), action: "webhook.paused", actor: { type: "robot", id: "7" } };
  for (const one of [later, created, deleted]) auditEvents.set(one.eventId, one);
  await eventually(() => auditEvents.size === 0);
  // Offers an event again, as if the first confirmation was lost.
  auditEvents.set(created.eventId, created);
  await eventually(() => auditEvents.size === 0);
  const { entries } = AuditAnswer.parse((await browser.ask("GET", "/audit?limit=100")).body);
  const { at, actor, address, subject, details } = created;
  const ofWebhooks = entries.filter((entry) => entry.action.startsWith("webhook."));
  expect(ofWebhooks.map(({ action }) => action).toSorted()).toEqual([
    "webhook.created",
    "webhook.deleted",
    "webhook.paused",
  ]);
  expect(ofWebhooks.find(({ action }) => action === "webhook.paused")).toMatchObject({
    actor: null,
    details: { ...details, unreadable: { actor: '{"type":"robot","id":"7"}' } },
  });
  for (const entry of ofWebhooks.filter(({ action }) => action !== "webhook.paused"))
    expect(entry).toMatchObject({ at, address, subject, details, actor: { ...actor, name: person.email } });
});
