/** `docs/live-metrics.md` agrees with the contract. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { describe, expect, it } from "vitest";

import { LIVE_CLOSE_CODES, LIVE_ERROR_CODES } from "../live/frames.ts";
import { HANDSHAKE_REJECTIONS, rejectionText } from "./handshake.ts";
import { LIVE_LIMITS } from "./limits.ts";
import { LIVE_MESSAGES, type LiveMessage } from "./messages.ts";

const ROOT = path.resolve(import.meta.dirname, "../../../..");
const FILE = path.join(ROOT, "docs/live-metrics.md");
const page = readFileSync(FILE, "utf8");
const messages = Object.values<LiveMessage>(LIVE_MESSAGES);
const shown = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, text = ""]) => JSON.parse(text) as { type: string });

/** Section headings as GitHub names them in links. */
const anchors = new Set(
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  ),
);

describe("the page on live metrics", () => {
  it.each(shown)("shows a valid $type that is an example of the AsyncAPI document", (message) => {
    const known = messages.find(({ name }) => name === message.type);
    expect(known?.schema.parse(message)).toEqual(message);
    expect(known?.examples.map(({ payload }) => payload)).toContainEqual(message);
  });

  it("shows every example of every message", () => {
    const texts = [...page.matchAll(/```text\n(.*?)\n```/gs)].map(([, text = ""]) => text);
    const all: unknown[] = [...shown, ...texts];
    for (const { examples } of messages) for (const { payload } of examples) expect(all).toContainEqual(payload);
  });

  it("has every error code, every close code, and every handshake error with its text", () => {
    for (const code of LIVE_ERROR_CODES) expect(page).toContain(`| \`${code}\``);
    for (const code of Object.values(LIVE_CLOSE_CODES)) expect(page).toContain(`| ${code} `);
    const rows = page.matchAll(/^\| (\d{3}) +\| `(\w+)` +\| `(\{"error":.*?\})` /gm);
    const documented = [...rows].map(([, status, code, body = ""]) => [
      Number(status),
      code,
      JSON.parse(body) as unknown,
    ]);
    expect(documented).toEqual(
      HANDSHAKE_REJECTIONS.map(({ status, code }) => [status, code, { error: rejectionText(code) }]),
    );
  });

  it("has the limits of the AsyncAPI document in its table of limits", () => {
    const [, section = ""] = /^## Limits\n(.*?)^## /ms.exec(page) ?? [];
    const values = [...section.matchAll(/^\| [^|]+ \| ([^|]+?) +\|/gm)].map(([, value]) => value).slice(2);
    expect(values).toEqual([
      `${count(LIVE_LIMITS.socketsPerOrganization)}, on each process of the stream`,
      count(LIVE_LIMITS.subscriptionsPerSocket),
      `${LIVE_LIMITS.messageBytes / 1_024} KiB`,
      count(LIVE_LIMITS.messagesPerSecond),
      `${LIVE_LIMITS.slowConsumerSeconds} s`,
      `${LIVE_LIMITS.windowSamples} samples, ${LIVE_LIMITS.windowSeconds / 60} minutes`,
    ]);
  });

  it("links only to files that exist and to its own sections, and the project's README links to it", () => {
    for (const [, target = ""] of page.matchAll(/\]\(([^)]+)\)/g)) {
      const found = target.startsWith("#")
        ? anchors.has(target.slice(1))
        : existsSync(path.resolve(path.dirname(FILE), target.split("#", 1)[0] ?? ""));
      expect(found, target).toBe(true);
    }
    expect(readFileSync(path.join(ROOT, "README.md"), "utf8")).toContain("](docs/live-metrics.md)");
  });
});

function count(value: number): string {
  return value.toLocaleString("en-US");
}
