import { describe, expect, it } from "vitest";

import { whyNotSent } from "./webhook-not-sent.ts";

const SERVER = "0197a3c2-6d20-7a10-8b3f-91c5e07d2aff";
const event = { type: "position.closed", serverId: SERVER, createdAt: "2026-03-08T10:00:00.000Z" } as const;
const endpoint = { kinds: null, serverIds: null, createdAt: "2026-03-01T10:00:00.000Z", status: "enabled" } as const;

describe("the reason why an endpoint did not get an event", () => {
  it.each([
    ["added after", event, { ...endpoint, createdAt: "2026-03-09T10:00:00.000Z" }],
    ["one endpoint only", { ...event, type: "webhook.test" as const }, endpoint],
    ["does not subscribe to position.closed", event, { ...endpoint, kinds: ["account.created" as const] }],
    ["does not subscribe to command.failed", { ...event, type: "command.failed" as const }, endpoint],
    ["this server", event, { ...endpoint, serverIds: ["0197a3c2-6d20-7a10-8b3f-91c5e07d2a00"] }],
    ["is disabled", event, { ...endpoint, status: "disabled" as const }],
    ["at that time", event, endpoint],
  ])('contains "%s"', (text, happened, given) => {
    expect(whyNotSent(happened, given)).toContain(text);
  });
});
