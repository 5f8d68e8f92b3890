import { connect } from "node:net";

import { afterAll, beforeAll, expect, it } from "vitest";

import { startUpgradeListener } from "./live-port.ts";

let listener: Awaited<ReturnType<typeof startUpgradeListener>>;
beforeAll(async () => {
  listener = await startUpgradeListener("127.0.0.1", 0);
});
afterAll(() => listener.stop());

/** Sends a text to the port of the live stream. Returns the response. */
async function answerTo(text: string): Promise<{ head: string; body: unknown }> {
  const address = listener.value.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  const socket = connect(address.port, "127.0.0.1");
  socket.write(text);
  const [head = "", body = ""] = Buffer.concat(await socket.toArray())
    .toString()
    .split("\r\n\r\n");
  return { head: head.toLowerCase(), body: JSON.parse(body) };
}

it("a request that is not a WebSocket upgrade is 404 with the code and the caller's request id, free of charge", async () => {
  const { head, body } = await answerTo(
    "GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine-1\r\nConnection: close\r\n\r\n",
  );
  expect(head).toMatch(/^http\/1\.1 404 /);
  expect(head).toContain("\r\nx-error-code: not_found");
  expect(head).toContain("\r\nx-request-id: mine-1");
  expect(head).toContain("\r\nx-credits-charged: 0");
  expect(body).toEqual({ error: "Not found", code: "NOT_FOUND", requestId: "mine-1" });
});

it("malformed HTTP is 400, in the form of all errors", async () => {
  const { head, body } = await answerTo("NONSENSE\r\n\r\n");
  expect(head).toMatch(/^http\/1\.1 400 /);
  expect(head).toContain("\r\nx-error-code: validation_failed");
  expect(body).toEqual({
    error: "The request is not valid HTTP",
    code: "VALIDATION_FAILED",
    requestId: expect.stringMatching(/.+/) as string,
  });
});
