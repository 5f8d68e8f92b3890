/** Secrets never reach the log, in whichever field or text they are. */
import { describe, expect, it } from "vitest";

import { createLogger } from "./logger.ts";

/** Only characters that every kind of secret may have. */
const SECRET = "Zq7xW3vT9pK2mN4bC8dF6gH1jL5sR0aY";
const KEY = `kapi.abcdefghijkl2345.${SECRET}0123456789a`;

function lineOf(log: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  log(
    createLogger({ service: "test", level: "info", destination: { write: (line: string) => void lines.push(line) } }),
  );
  expect(lines).toHaveLength(1);
  return lines[0] ?? "";
}

/** An error of a client library, which adds the data of its call to the error. */
function laden(message: string, fields: object): Error {
  return Object.assign(new Error(message), fields);
}

describe("a secret", () => {
  it.each([
    ["in a request's headers", { headers: { authorization: SECRET, Cookie: SECRET, "x-internal-token": SECRET } }],
    ["in a response's headers", { headers: { "set-cookie": [SECRET] } }],
    [
      "deep in a body",
      { body: { accounts: [{ owner: { access: { newPassword: SECRET, sealedPassword: [SECRET] } } }] } },
    ],
    ["in a session", { session: { csrfToken: SECRET, "x-csrf-token": SECRET } }],
    ["in a webhook endpoint", { endpoint: { secret: SECRET, previousSecret: { ciphertext: SECRET } } }],
    [
      "in environment variables",
      {
        env: {
          INTERNAL_TOKEN: SECRET,
          WEBHOOK_SEALING_KEYS: SECRET,
          EVIDENCE_SIGNING_KEYS: SECRET,
          FINGERPRINT_KEY: SECRET,
        },
      },
    ],
    ["in an account's credentials", { account: { credentials: { login: SECRET } } }],
    [
      "in an address",
      { url: `postgres://kapi:${SECRET}@db.example.com/kapi`, other: new URL(`redis://:${SECRET}@r/0`) },
    ],
    ["in the middle of a text", { text: `tried with Management ${KEY} and Bearer ${SECRET}, whsec_${SECRET}` }],
    ["in the arguments of a Redis command", { err: laden("WRONGPASS", { command: { name: "auth", args: [SECRET] } }) }],
    ["in a row of the database", { err: laden("violates check", { detail: `Failing row contains (${SECRET})` }) }],
    ["in the cause of a cause", { err: new Error("no", { cause: laden("no", { config: { auth: SECRET } }) }) }],
    ["in one of several errors", { error: new AggregateError([laden("no", { password: SECRET })], "none answered") }],
  ])("%s is not logged", (_where, entry) => {
    const line = lineOf((logger) => logger.info(entry, "done"));
    expect(line).not.toContain(SECRET);
    expect(JSON.parse(line)).toMatchObject({ msg: "done" });
  });

  it("in the message of an error or of a log line is not logged", () => {
    expect(lineOf((logger) => logger.error(new Error(`refused ${KEY}`)))).not.toContain(SECRET);
    expect(lineOf((logger) => logger.info(`refused ${KEY}`))).not.toContain(SECRET);
  });
});

describe("a log entry without secrets", () => {
  it("is logged unchanged", () => {
    const entry = {
      key: "server/account",
      passwordKind: "trading",
      tokens: null,
      at: new Date(0),
      tries: 3,
      none: null,
    };
    expect(JSON.parse(lineOf((logger) => logger.info(entry)))).toMatchObject({
      ...entry,
      at: "1970-01-01T00:00:00.000Z",
    });
  });

  it("about an error has the type, code, address, stack and cause of the error", () => {
    const error = laden("not reached", {
      code: "ECONNREFUSED",
      address: "10.0.0.1",
      port: 5432,
      cause: new TypeError("why"),
    });
    expect(JSON.parse(lineOf((logger) => logger.error({ err: error }, "failed")))).toMatchObject({
      err: {
        type: "Error",
        message: "not reached",
        code: "ECONNREFUSED",
        address: "10.0.0.1",
        stack: expect.stringContaining("redaction.test.ts") as string,
        cause: { type: "TypeError", message: "why" },
      },
    });
  });

  it("that contains itself is logged", () => {
    const entry: { name: string; self?: object } = { name: "round" };
    entry.self = entry;
    expect(JSON.parse(lineOf((logger) => logger.info(entry)))).toMatchObject({ name: "round", self: "[circular]" });
  });
});
