import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { describe, expect, it } from "vitest";

import { metricsAddress, telemetryWish } from "./telemetry.ts";

const RUNTIME = new URL("index.ts", import.meta.url).href;

describe("telemetry", () => {
  it.each([
    [{}, false, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }, false, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }, true, false],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector:4318/v1/traces" }, true, false],
    [{ OTEL_TRACES_EXPORTER: "console" }, true, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", OTEL_TRACES_EXPORTER: "none" }, false, false],
    [{ METRICS: "on" }, false, true],
    [{ METRICS: "on", OTEL_TRACES_EXPORTER: "otlp", OTEL_SDK_DISABLED: "true" }, false, false],
  ])("with %j: traces %s, metrics %s", (env, traces, metrics) => {
    expect(telemetryWish(env)).toEqual({ traces, metrics });
  });

  it("reads its settings from files, like all settings", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "kapi-telemetry-"));
    const files = { METRICS: "on", METRICS_PORT: "9464", HTTP_HOST: "127.0.0.2" };
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
    const env = Object.fromEntries(Object.keys(files).map((name) => [`${name}_FILE`, path.join(folder, name)]));
    expect(telemetryWish(env)).toEqual({ traces: false, metrics: true });
    expect(metricsAddress(env)).toEqual({ host: "127.0.0.2", port: 9464 });
    rmSync(folder, { recursive: true });
  });

  it("does not load the SDK by default", () => {
    const { loaded, text } = started({});
    expect(loaded).toEqual([]);
    expect(text).toBeNull();
  });

  it("serves the metrics of the process with METRICS=on", () => {
    const { loaded, text } = started({ METRICS: "on", OTEL_SERVICE_NAME: "the name" });
    expect(loaded.length).toBeGreaterThan(0);
    expect(text).toContain('demo_things_total{color="red"} 2\n');
    expect(text).toContain("# UNIT demo_wait s\n");
    expect(text).toContain('demo_wait_bucket{le="0.25"} 1\n');
    expect(text).toContain("demo_level 7\n");
    expect(text).toContain('service_name="the name"');
  });

  it("drops a series that is no longer observed, as after a partition moved to another process", () => {
    expect(started({ METRICS: "on" }).text).toContain('demo_moving{place="second"} 1\n');
    expect(started({ METRICS: "on" }).text).not.toContain('demo_moving{place="first"}');
  });

  it("serves metrics only on METRICS_PORT if it is set, not on the HTTP port", () => {
    const { status, served, elsewhere, text } = servedApart();
    expect(status).toBe(200);
    expect(served).toContain('demo_things_total{color="red"} 2\n');
    expect(served).toContain('service_name="demo"');
    expect(elsewhere).toBe(404);
    expect(text).toBeNull();
  });

  it("omits a value that cannot be read", () => {
    expect(started({ METRICS: "on" }).text).not.toContain("demo_unavailable ");
  });
});

interface Started {
  /** Loaded files of OpenTelemetry's SDK, without its API. */
  readonly loaded: readonly string[];
  readonly text: string | null;
}

interface Served {
  readonly status: number;
  readonly served: string;
  /** The status of another path. */
  readonly elsewhere: number;
  /** The metrics that the HTTP server would serve; null: none. */
  readonly text: string | null;
}

/** Starts a child process with METRICS_PORT, and reads its metrics. */
function servedApart(): Served {
  const code = `
    import { createServer } from "node:net";
    const { counter, metricsText, startTelemetry } = await import(${JSON.stringify(RUNTIME)});
    const probe = createServer();
    await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
    const { port } = probe.address();
    await new Promise((resolve) => probe.close(resolve));
    const telemetry = await startTelemetry("demo", { METRICS: "on", METRICS_PORT: String(port) });
    counter("demo.things", "Things", "{thing}").add(2, { color: "red" });
    const answer = await fetch("http://127.0.0.1:" + port + "/metrics");
    const served = await answer.text();
    const { status: elsewhere } = await fetch("http://127.0.0.1:" + port + "/livez");
    await telemetry.stop();
    console.log(JSON.stringify({ status: answer.status, served, elsewhere, text: (await metricsText()?.()) ?? null }));
  `;
  return run(code, {}) as Served;
}

/** Runs a child process with telemetry; returns the loaded files of the SDK, and the metrics. */
function started(env: Readonly<Record<string, string>>): Started {
  const code = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
    const { counter, histogram, metricsText, observed, startTelemetry } = await import(${JSON.stringify(RUNTIME)});
    const telemetry = await startTelemetry("demo", process.env);
    counter("demo.things", "Things", "{thing}").add(2, { color: "red" });
    histogram("demo.wait", "Waits", "s").record(0.2);
    observed("demo.level", "Level", "1", () => [{ value: 7 }]);
    observed("demo.unavailable", "Unavailable", "1", () => Promise.reject(new Error("unavailable")));
    const places = ["first", "second"];
    observed("demo.moving", "Moving", "1", () => [{ value: 1, attributes: { place: places.shift() } }]);
    await metricsText()?.();
    const text = (await metricsText()?.()) ?? null;
    const sdk = loaded.filter((url) => url.includes("@opentelemetry/") && !url.includes("@opentelemetry/api/"));
    await telemetry?.stop();
    console.log(JSON.stringify({ loaded: sdk, text }));
  `;
  return run(code, env) as Started;
}

/** Runs `code` as a program and parses its output as JSON. */
function run(code: string, env: Readonly<Record<string, string>>): unknown {
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    env,
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}
