import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { cached } from "./cache.ts";

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(path.join(tmpdir(), "kapi-cache-"));
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

describe("a folder of the cache", () => {
  it("is filled once", async () => {
    const fills: string[] = [];
    const fill = (folder: string): Promise<void> => {
      fills.push(folder);
      writeFileSync(path.join(folder, "file"), "content");
      return Promise.resolve();
    };
    const first = await cached(cache, "kafka", fill);
    expect(await cached(cache, "kafka", fill)).toBe(first);
    expect(fills).toHaveLength(1);
    expect(readFileSync(path.join(first, "file"), "utf8")).toBe("content");
  });

  it("is used as another process filled it, if that process was faster", async () => {
    const folder = await cached(cache, "kafka", (filling) => {
      writeFileSync(path.join(filling, "file"), "slower");
      mkdirSync(path.join(cache, "kafka"));
      writeFileSync(path.join(cache, "kafka", "file"), "faster");
      return Promise.resolve();
    });
    expect(readFileSync(path.join(folder, "file"), "utf8")).toBe("faster");
    expect(readdirSync(cache)).toEqual(["kafka"]);
  });

  it("does not appear if it could not be filled", async () => {
    const failing = cached(cache, "kafka", () => Promise.reject(new Error("no network")));
    await expect(failing).rejects.toThrow("no network");
    expect(existsSync(path.join(cache, "kafka"))).toBe(false);
    expect(readdirSync(cache)).toEqual([]);
  });
});
