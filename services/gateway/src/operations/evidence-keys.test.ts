import { beforeEach, describe, expect, it } from "vitest";

import type { ReadEvidenceKeys } from "../domain/ports.ts";
import { createEvidenceKeysCache, KEYS_RETRY_MS, KEYS_TTL_MS } from "./evidence-keys.ts";

let nowMs: number;
let loads: number;
let load: ReadEvidenceKeys;
let keys: ReadEvidenceKeys;

const text = async (): Promise<string> => (await keys()).toString();

beforeEach(() => {
  nowMs = 1_000_000;
  loads = 0;
  load = () => Promise.resolve(Buffer.from(`keys ${loads}`));
  const count = (): Promise<Buffer> => {
    loads += 1;
    return load();
  };
  keys = createEvidenceKeysCache(count, { nowMs: () => nowMs });
});

describe("the public keys of evidence", () => {
  it("are loaded once for concurrent calls, and again after their time to live", async () => {
    expect(await Promise.all([text(), text(), text()])).toEqual(["keys 1", "keys 1", "keys 1"]);
    nowMs += KEYS_TTL_MS - 1;
    expect(await text()).toBe("keys 1");
    nowMs += 1;
    expect(await text()).toBe("keys 2");
  });

  it("are served while the risk service fails, which is asked again after a pause", async () => {
    await text();
    load = () => Promise.reject(new Error("unavailable"));
    nowMs += KEYS_TTL_MS;
    expect([await text(), await text(), loads]).toEqual(["keys 1", "keys 1", 2]);
    nowMs += KEYS_RETRY_MS;
    expect([await text(), loads]).toEqual(["keys 1", 3]);
    load = () => Promise.resolve(Buffer.from("new keys"));
    nowMs += KEYS_RETRY_MS;
    expect(await text()).toBe("new keys");
  });

  it("are an error only if no load has succeeded yet, and then each call tries again", async () => {
    const working = load;
    load = () => Promise.reject(new Error("unavailable"));
    await expect(keys()).rejects.toThrow("unavailable");
    await expect(keys()).rejects.toThrow("unavailable");
    load = working;
    expect(await text()).toBe("keys 3");
  });
});
