import { describe, expect, it } from "vitest";

import { Health } from "./health.ts";

describe("health", () => {
  it("is ok while every check returns null, and reports each check that returns a reason", () => {
    const health = new Health();
    let lag: string | null = null;
    health.readiness("directory", () => lag);
    health.liveness("consumer", () => null);
    expect(health.ready()).toEqual({ ok: true, reasons: {} });
    lag = "not at the end yet";
    expect(health.ready()).toEqual({ ok: false, reasons: { directory: "not at the end yet" } });
    expect(health.live()).toEqual({ ok: true, reasons: {} });
  });

  it("counts a check that throws as failed", () => {
    const health = new Health();
    health.liveness("consumer", () => {
      throw new Error("no group");
    });
    expect(health.live()).toEqual({ ok: false, reasons: { consumer: "the check failed: no group" } });
  });

  it("reports not ready, but live, after the stop has begun", () => {
    const health = new Health();
    health.beginStop();
    expect(health.ready()).toEqual({ ok: false, reasons: { process: "stopping" } });
    expect(health.live().ok).toBe(true);
  });

  it("answers for every service of the same process, and names the service of each failed check", () => {
    const [gateway, account] = [new Health(), new Health()];
    Health.join(new Map(Object.entries({ gateway, account })));
    account.readiness("redis", () => "not connected");
    account.liveness("consumer", () => "no progress");
    expect(gateway.ready()).toEqual({ ok: false, reasons: { "account: redis": "not connected" } });
    expect(gateway.live()).toEqual({ ok: false, reasons: { "account: consumer": "no progress" } });
    expect(gateway.ownReady()).toEqual({ ok: true, reasons: {} });
    expect(account.ownReady().ok).toBe(false);
  });

  it("names no service in a process of one service", () => {
    const account = new Health();
    Health.join(new Map([["account", account]]));
    account.liveness("consumer", () => "no progress");
    expect(account.live()).toEqual({ ok: false, reasons: { consumer: "no progress" } });
  });
});
