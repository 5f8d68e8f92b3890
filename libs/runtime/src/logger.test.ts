import { describe, expect, it } from "vitest";

import { createLogger } from "./logger.ts";

describe("the log", () => {
  it("never has the value of a field such as `password` or `token`, at any depth of an entry", () => {
    const { logger, lines } = captured();
    logger.info({ password: "s3cret", sealedPassword: { iv: "s3cret" }, token: "s3cret" }, "top");
    logger.info(
      { headers: { authorization: "s3cret", "x-internal-token": "s3cret" }, key: { secret: "s3cret" } },
      "one",
    );
    logger.info({ command: { change: { password: "s3cret", tradingPassword: "s3cret" } } }, "two below");
    expect(lines).toHaveLength(3);
    expect(lines.join("")).not.toContain("s3cret");
    expect(lines.join("")).toContain("[redacted]");
  });

  it("has the name of the service, and the name of the level", () => {
    const { logger, lines } = captured();
    logger.warn("careful");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "warn", service: "account", msg: "careful" });
  });

  it("has the trace and the request id on every line, unless the entry has a field with the same name", () => {
    const { logger, lines } = captured(() => ({ trace_id: "t-1", requestId: "r-1" }));
    logger.info("one");
    logger.info({ requestId: "r-2" }, "two");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { trace_id: "t-1", requestId: "r-1" },
      { trace_id: "t-1", requestId: "r-2" },
    ]);
  });

  it("has the cause of an error", () => {
    const { logger, lines } = captured();
    logger.error({ err: new Error("request failed", { cause: new Error("connection reset") }) }, "failed");
    expect(lines[0]).toContain("connection reset");
  });
});

function captured(fields?: () => Record<string, unknown>): {
  logger: ReturnType<typeof createLogger>;
  lines: string[];
} {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return {
    logger: createLogger({
      service: "account",
      level: "info",
      destination,
      ...(fields === undefined ? {} : { fields }),
    }),
    lines,
  };
}
