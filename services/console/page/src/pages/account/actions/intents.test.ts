import { expect, it } from "vitest";

import {
  decidedAtMs,
  type Intent,
  intentStorageKey,
  isRefused,
  keepIntent,
  loadIntent,
  createIntent,
} from "./intents.ts";

const STORAGE_KEY = intentStorageKey("user", "server", "10000001");
const NOW_MS = Date.UTC(2026, 10, 27, 12);

class Tab {
  readonly #values = new Map<string, string>();
  getItem(name: string): string | null {
    return this.#values.get(name) ?? null;
  }
  setItem(name: string, value: string): void {
    this.#values.set(name, value);
  }
  removeItem(name: string): void {
    this.#values.delete(name);
  }
}

it("a reload during an attempt keeps the intent and its key, and makes its state unknown", () => {
  const tab = new Tab();
  const intent = createIntent("deposit", { amount: 100 }, NOW_MS);
  keepIntent(tab, STORAGE_KEY, intent);
  expect(loadIntent(tab, STORAGE_KEY)).toEqual({ ...intent, state: "unknown" });
  keepIntent(tab, STORAGE_KEY, null);
  expect(loadIntent(tab, STORAGE_KEY)).toBeNull();
});

it("every intent has a key of its own, and is kept for one person and account", () => {
  const keys = [1, 2].map(() => createIntent("deposit", {}, NOW_MS).key);
  expect(new Set(keys).size).toBe(2);
  const storageKeys = [
    STORAGE_KEY,
    intentStorageKey("other", "server", "10000001"),
    intentStorageKey("user", "server", "10000002"),
  ];
  expect(new Set(storageKeys).size).toBe(3);
});

it.each([
  [400, "sending", true],
  [402, "sending", true],
  [429, "sending", true],
  [500, "sending", false],
  [null, "sending", false],
  // An earlier attempt had no answer, so it may have been accepted.
  [402, "unknown", false],
  [404, "unknown", false],
] as const)(
  "a failed attempt with the status %s, of an intent in the state %s, proves that no attempt was accepted: %s",
  (status, before, refused) => {
    expect(isRefused({ status }, before)).toBe(refused);
  },
);

it("an outcome is due a minute after the deadline of the command; for an unknown command, 16 minutes after the last attempt", () => {
  const intent: Intent = createIntent("withdraw", {}, NOW_MS);
  expect(decidedAtMs(intent)).toBe(NOW_MS + 16 * 60_000);
  const deadlineAt = new Date(NOW_MS + 5 * 60_000).toISOString();
  expect(decidedAtMs({ ...intent, deadlineAt })).toBe(NOW_MS + 6 * 60_000);
});
