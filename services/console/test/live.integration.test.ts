/** Live values of an account in the console, while the session lasts. */
import { LIVE_EVENTS } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { MAX_STREAMS_PER_USER } from "../src/operations/live-accounts.ts";
import { type Browser, type ConsoleHarness, PASSWORD, type ConsoleUser, startConsoleHarness } from "./harness.ts";
import { sampleOf } from "./stand-in-services.ts";

const ACCOUNT = "10000001";
/** Maximum time from the end of a session to the end of its streams. */
const SESSION_END_MS = 2_000;

let harness: ConsoleHarness;
let person: ConsoleUser;
let browser: Browser;
beforeAll(async () => {
  harness = await startConsoleHarness();
});
afterAll(() => harness.stop());

/** Reads a stream of server-sent events. */
class Watcher {
  readonly events: { name: string; data: Record<string, unknown> }[] = [];
  isOver = false;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;

  async open(browser: Browser, path: string): Promise<Response> {
    const response = await browser.open("GET", `/console/api${path}`);
    if (response.ok) void this.#read(response).catch(() => undefined);
    return response;
  }

  leave(): void {
    void this.#reader?.cancel();
  }

  async #read({ body }: Response): Promise<void> {
    if (body === null) return;
    this.#reader = body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) break;
      const parts = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) this.#take(part);
    }
    this.isOver = true;
  }

  #take(part: string): void {
    const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(part) ?? [];
    if (name !== undefined && data !== undefined) {
      this.events.push({ name, data: JSON.parse(data) as Record<string, unknown> });
    }
  }
}

/** Signs in a new person with one account; returns a reader of the account's stream. */
async function watched(): Promise<Watcher> {
  person = await harness.person();
  browser = await harness.signedIn(person);
  harness.standIns.accounts.set(person.serverId, [ACCOUNT]);
  harness.standIns.samples.set(ACCOUNT, sampleOf(person.serverId, ACCOUNT, 1));
  const watcher = new Watcher();
  const response = await watcher.open(browser, `/servers/${person.serverId}/accounts/${ACCOUNT}/live`);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  await eventually(() => watcher.events.length > 0);
  return watcher;
}

it("a stream shows the newest sample at once, and then each newer sample once", async () => {
  const watcher = await watched();
  for (const sequence of [2, 3, 2]) {
    const sample = sampleOf(person.serverId, ACCOUNT, sequence);
    const asked = harness.standIns.sampleRequests.length;
    harness.standIns.samples.set(ACCOUNT, sample);
    await eventually(() => harness.standIns.sampleRequests.length > asked);
  }
  const expected = [1, 2, 3].map((sequence) => sampleOf(person.serverId, ACCOUNT, sequence));
  expect(watcher.events).toEqual(expected.map((data) => ({ name: LIVE_EVENTS.sample, data })));
  watcher.leave();
});

it("a process asks for the samples of all its open streams in one request", async () => {
  const first = await watched();
  const { serverId } = person;
  harness.standIns.accounts.set(serverId, [ACCOUNT, "10000002"]);
  const others = [new Watcher(), new Watcher()];
  await others[0]?.open(browser, `/servers/${serverId}/accounts/${ACCOUNT}/live`);
  await others[1]?.open(browser, `/servers/${serverId}/accounts/10000002/live`);
  // A new stream first requests only its own account. After that, each request has both accounts.
  await eventually(() => {
    const lastThree = harness.standIns.sampleRequests.slice(-3);
    expect(lastThree).toEqual([2, 2, 2]);
  });
  others[1]?.leave();
  await eventually(() => harness.standIns.sampleRequests.at(-1) === 1);
  for (const watcher of [first, ...others]) watcher.leave();
});

it("a stream ends within two seconds after the sign-out, after a new password, and after the user is disabled", async () => {
  const ends: (() => Promise<unknown>)[] = [
    () => browser.ask("DELETE", "/session"),
    () => browser.ask("PUT", "/session/password", { currentPassword: PASSWORD, newPassword: "another password" }),
    () => harness.client.request("DELETE", `/internal/users/${person.userId}`),
  ];
  for (const end of ends) {
    const watcher = await watched();
    await end();
    await eventually(() => watcher.isOver, { timeoutMs: SESSION_END_MS });
    expect(watcher.events.at(-1)).toEqual({ name: LIVE_EVENTS.end, data: { reason: "signed_out" } });
  }
});

it("a stream ends with the reason `deleted` if its account is deleted; a stream of an unknown account gets 404", async () => {
  const watcher = await watched();
  harness.standIns.samples.delete(ACCOUNT);
  harness.standIns.accounts.set(person.serverId, []);
  await eventually(() => watcher.isOver);
  expect(watcher.events.at(-1)).toEqual({ name: LIVE_EVENTS.end, data: { reason: "deleted" } });
  const response = await new Watcher().open(browser, `/servers/${person.serverId}/accounts/${ACCOUNT}/live`);
  expect(response.status).toBe(404);
});

it("a stream that never got a sample ends if its account is deleted", async () => {
  person = await harness.person();
  browser = await harness.signedIn(person);
  harness.standIns.accounts.set(person.serverId, [ACCOUNT]);
  harness.standIns.samples.delete(ACCOUNT);
  const watcher = new Watcher();
  await watcher.open(browser, `/servers/${person.serverId}/accounts/${ACCOUNT}/live`);
  harness.standIns.accounts.set(person.serverId, []);
  await eventually(() => watcher.isOver);
  expect(watcher.events).toEqual([{ name: LIVE_EVENTS.end, data: { reason: "deleted" } }]);
});

it("a user has a limited number of streams, and can open a new stream when another has ended", async () => {
  const watchers = [await watched()];
  const path = `/servers/${person.serverId}/accounts/${ACCOUNT}/live`;
  const statuses = await Promise.all(
    Array.from({ length: MAX_STREAMS_PER_USER + 4 }, async () => {
      const watcher = new Watcher();
      watchers.push(watcher);
      return (await watcher.open(browser, path)).status;
    }),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(MAX_STREAMS_PER_USER - 1);
  expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  watchers[0]?.leave();
  await eventually(async () => {
    const watcher = new Watcher();
    watchers.push(watcher);
    expect((await watcher.open(browser, path)).status).toBe(200);
  });
  for (const watcher of watchers) watcher.leave();
});
