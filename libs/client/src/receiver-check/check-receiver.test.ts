import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, expect, it } from "vitest";

import { verifyWebhook } from "../webhooks/verify.ts";
import { checkReceiver, ReceiverUnreachable } from "./check-receiver.ts";

const SECRET = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/**
 * Starts a receiver that answers with the status that `statusOf` returns, or ends the connection
 * for 0. Returns its address.
 */
async function receiver(statusOf: (body: string, headers: Headers) => number): Promise<string> {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await request.toArray()).join("");
    const status = statusOf(body, new Headers(request.headers as Record<string, string>));
    if (status === 0) request.socket.destroy();
    else response.writeHead(status).end();
  };
  const server = createServer((request, response) => void handle(request, response));
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function verified(body: string, headers: Headers): number {
  try {
    verifyWebhook(body, headers, SECRET);
    return 204;
  } catch {
    return 400;
  }
}

it("a receiver that verifies signatures passes all checks; `lookAt` of two results says what the owner has to check, because no answer shows it", async () => {
  const ids = new Map<string, number>();
  const url = await receiver((body, headers) => {
    const id = headers.get("webhook-id") ?? "";
    ids.set(id, (ids.get(id) ?? 0) + 1);
    return verified(body, headers);
  });
  const results = await checkReceiver({ url, secret: SECRET });
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
  expect(results.filter(({ lookAt }) => lookAt !== undefined).map(({ check }) => check)).toEqual([
    "the same event again",
    "events out of order",
  ]);
  expect(Math.max(...ids.values())).toBe(3);
});

it("a receiver that accepts every delivery fails each check that expects a rejection", async () => {
  const results = await checkReceiver({ url: await receiver(() => 200), secret: SECRET });
  const failed = results.filter(({ passed }) => !passed);
  expect(failed.map(({ expected }) => expected)).toEqual(Array(6).fill("reject"));
  expect(results.filter(({ expected }) => expected === "reject")).toEqual(failed);
});

it("a receiver that answers an unknown kind with 500 fails only that check; the problem says that kapi sends the event again", async () => {
  const url = await receiver((body, headers) => (body.includes("later.kind") ? 500 : verified(body, headers)));
  const failed = (await checkReceiver({ url, secret: SECRET })).filter(({ passed }) => !passed);
  expect(failed).toMatchObject([{ check: "a kind that does not exist yet", statuses: [500] }]);
  expect(failed[0]?.problem).toContain("again");
});

it("a receiver that does not run is reported at once, with the reason", async () => {
  const url = await receiver(() => 200);
  servers.splice(0).forEach((server) => server.close());
  const check = checkReceiver({ url, secret: SECRET });
  await expect(check).rejects.toThrow(ReceiverUnreachable);
  await expect(check).rejects.toThrow(/ECONNREFUSED.*Is the receiver running\?/);
});

it("a receiver that ends the connection at one event fails only the check of that event", async () => {
  const url = await receiver((body, headers) => (body.includes("padding") ? 0 : verified(body, headers)));
  const failed = (await checkReceiver({ url, secret: SECRET })).filter(({ passed }) => !passed);
  expect(failed).toMatchObject([{ check: "a large event", statuses: [null] }]);
});

it("a receiver that ends the connection at a forgery fails: the problem asks for 4xx, and mentions no retry", async () => {
  const url = await receiver((body, headers) => (verified(body, headers) === 204 ? 204 : 0));
  const failed = (await checkReceiver({ url, secret: SECRET })).filter(({ passed }) => !passed);
  expect(failed).toHaveLength(6);
  for (const { statuses, problem } of failed) {
    expect(statuses).toEqual([null]);
    expect(problem).toContain("must be answered with 4xx");
    expect(problem).not.toContain("again");
  }
});
