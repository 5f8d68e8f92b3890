/** Compares `docs/webhooks.md` with the contract and the service. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import {
  MAX_LISTED_DELIVERIES,
  MAX_REPLAY_EVENTS,
  MAX_WEBHOOK_ENDPOINTS,
  WEBHOOK_DISABLED_REASONS,
  WEBHOOK_HEADERS,
  WEBHOOK_KINDS,
  WebhookEvent,
} from "@kapi/contracts";
import { openApiDocument } from "@kapi/contracts/openapi";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";

import { RETRY_DELAYS_MS } from "../src/domain/retry-schedule.ts";
import { generateSecret, signatureOf, signingKey } from "../src/domain/signature.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const DOCS = path.join(ROOT, "docs");
const page = readFileSync(path.join(DOCS, "webhooks.md"), "utf8");
/** An event of the page. Its text may be wrapped. */
const EVENT = /^`([\w.]+)`: ((?:(?!\n\n).)*)\n\n```json\n(.*?)```/gms;
const shown = [...page.matchAll(EVENT)].map(([, kind, text = "", json = ""]) => ({
  kind,
  text: text.replaceAll("\n", " "),
  example: JSON.parse(json) as { type: string },
}));
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, min: 60_000, h: 3_600_000 };
const SECOND_MS = 1_000;

/** Anchors of section headings, as GitHub builds them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
}

describe("the page on webhooks", () => {
  it("shows each kind of event once, as in the OpenAPI document", () => {
    expect(new Set(shown.map(({ kind }) => kind))).toEqual(new Set(WEBHOOK_KINDS));
    expect(shown).toHaveLength(WEBHOOK_KINDS.length);
    const { webhooks } = openApiDocument();
    for (const { kind, text, example } of shown) {
      expect(example.type).toBe(kind);
      expect(WebhookEvent.parse(example)).toEqual(example);
      expect(webhooks[example.type]).toMatchObject({
        post: { description: text, requestBody: { content: { "application/json": { example } } } },
      });
    }
  });

  it("lists the actual retry delays", () => {
    const [, table = ""] = /^## Retries\n(.*?)^## /ms.exec(page) ?? [];
    const rows = [...table.matchAll(/^\| (\d+) +\| (\d+) (s|min|h) +\|$/gm)];
    expect(rows.map(([, attempt]) => Number(attempt))).toEqual(RETRY_DELAYS_MS.map((_, index) => index + 1));
    expect(rows.map(([, , count, unit = ""]) => Number(count) * (UNITS_MS[unit] ?? 0))).toEqual([...RETRY_DELAYS_MS]);
  });

  it("names every header, every disabled reason and the limits", () => {
    for (const header of Object.values(WEBHOOK_HEADERS)) expect(page).toContain(`| \`${header}\``);
    for (const reason of WEBHOOK_DISABLED_REASONS) expect(page).toContain(`| \`${reason}\``);
    expect(page).toContain(`at most ${MAX_WEBHOOK_ENDPOINTS} endpoints`);
    expect(page).toContain(`the newest ${MAX_LISTED_DELIVERIES.toLocaleString("en-US")} that match`);
    expect(page).toContain(`at most ${MAX_REPLAY_EVENTS.toLocaleString("en-US")} events`);
  });

  it("has TypeScript code that accepts a delivery of the service and rejects a changed body", async () => {
    const [, lines = ""] = /```ts\n(.*?)```/s.exec(page) ?? [];
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-page-"));
    const secret = generateSecret();
    const before = process.env["WEBHOOK_SECRET"];
    try {
      process.env["WEBHOOK_SECRET"] = secret;
      const file = path.join(folder, "verify.ts");
      writeFileSync(file, lines.replace(`"standardwebhooks"`, JSON.stringify(import.meta.resolve("standardwebhooks"))));
      const { eventOf } = (await import(file)) as { eventOf: (body: Buffer, headers: object) => unknown };
      const body = JSON.stringify(shown[0]?.example);
      const timestamp = Math.floor(Date.now() / SECOND_MS);
      const signature = signatureOf([signingKey(generateSecret()), signingKey(secret)], { id: "one", timestamp, body });
      const headers = {
        [WEBHOOK_HEADERS.id]: "one",
        [WEBHOOK_HEADERS.timestamp]: String(timestamp),
        [WEBHOOK_HEADERS.signature]: signature,
      };
      expect(eventOf(Buffer.from(body), headers)).toEqual(shown[0]?.example);
      expect(new Webhook(secret).verify(body, headers)).toEqual(shown[0]?.example);
      expect(() => eventOf(Buffer.from(`${body} `), headers)).toThrow(/signature/i);
    } finally {
      if (before === undefined) delete process.env["WEBHOOK_SECRET"];
      else process.env["WEBHOOK_SECRET"] = before;
      rmSync(folder, { recursive: true });
    }
  });

  it("has only valid relative links, and the README links to it", () => {
    for (const [, target = ""] of page.matchAll(/\]\((?!https:)([^)]+)\)/g)) {
      const [file = "", anchor] = target.split("#");
      const place = path.join(DOCS, file === "" ? "webhooks.md" : file);
      expect(existsSync(place), target).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(readFileSync(place, "utf8")), target).toContain(anchor);
    }
    expect(readFileSync(path.join(ROOT, "README.md"), "utf8")).toContain("](docs/webhooks.md)");
  });
});
