import { PassThrough } from "node:stream";

import { expect, test } from "vitest";

import { answerBrokenHttp } from "./error-answers.ts";

async function answerTo(code: string): Promise<string> {
  const socket = new PassThrough();
  answerBrokenHttp(Object.assign(new Error(code), { code }), socket, "request-1");
  return Buffer.concat(await socket.toArray()).toString();
}

test("a request that did not arrive in time is 500 with Retry-After: this process may have been paused", async () => {
  const answer = await answerTo("ERR_HTTP_REQUEST_TIMEOUT");
  expect(answer).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n[^]*x-error-code: DEPENDENCY_UNAVAILABLE/);
  expect(answer).toMatch(/\r\nretry-after: 1\r\n/i);
  expect(answer).toMatch(/\r\nconnection: close\r\n/);
});

test("malformed HTTP is 400 VALIDATION_FAILED", async () => {
  expect(await answerTo("HPE_INVALID_METHOD")).toMatch(
    /^HTTP\/1\.1 400 Bad Request\r\n[^]*x-error-code: VALIDATION_FAILED/,
  );
});
