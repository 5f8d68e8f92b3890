import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createGunzip, gunzipSync } from "node:zlib";

import { assert } from "@kapi/kernel";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { accountBody, call } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

let platform: Platform;
let organization: Organization;
/**
 * Open responses of the stand-in for the account service, oldest first. `asked` removes the
 * response that it returns.
 */
const openResponses: ServerResponse[] = [];
let owner: Server;
let url: string;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(100_000);
  owner = createServer((_request, response) => openResponses.push(response)).listen(0, "127.0.0.1");
  await once(owner, "listening");
  const address = owner.address();
  assert(address !== null && typeof address === "object", "the server has no TCP port");
  url = await platform.gateway({ ACCOUNT_URL: `http://127.0.0.1:${address.port}` });
});
afterAll(async () => {
  owner.closeAllConnections();
  owner.close();
  await platform.stop();
});

/** Requests a path below the server; resolves when the head of the response has arrived. */
async function head(path: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  const request = get(`${url}/api/v1/management/servers/${organization.server.serverId}${path}`, {
    headers: { authorization: `Management ${organization.managementKey}`, ...headers },
  });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Waits for the next request to the stand-in; begins the response with 200 and returns it. */
async function asked(): Promise<ServerResponse> {
  await expect.poll(() => openResponses.length).toBeGreaterThan(0);
  const response = openResponses.shift();
  assert(response !== undefined, "no request is waiting at the owner");
  return response.writeHead(200, { "content-type": "application/json" });
}

const GZIP = { "accept-encoding": "gzip, br, zstd" };

describe("a response to a read", () => {
  it("is compressed for a caller that accepts gzip, with the owner's exact bytes inside", async () => {
    const body = Buffer.from(`{"accounts":[${'"é",'.repeat(2_000)}1],"pagination":{}}`);
    for (const [headers, encoding] of [
      [GZIP, "gzip"],
      [{ "accept-encoding": "br, zstd, deflate" }, undefined],
      [{ "accept-encoding": "gzip;q=0" }, undefined],
      [{}, undefined],
    ] as const) {
      const response = head("/accounts?page=1", headers);
      (await asked()).end(body);
      const answer = await response;
      expect(answer.headers["content-encoding"]).toBe(encoding);
      const bytes = await bytesOf(answer);
      expect(Number(answer.headers["content-length"])).toBe(bytes.length);
      if (encoding === "gzip") {
        expect(answer.headers.vary).toBe("accept-encoding");
        expect(bytes.length).toBeLessThan(body.length / 10);
      }
      expect(encoding === "gzip" ? gunzipSync(bytes) : bytes).toEqual(body);
    }
  });

  it("below 1 KiB is not compressed, and neither is an error", async () => {
    const response = head("/accounts?page=1", GZIP);
    (await asked()).end(`{"accounts":[],"pagination":{}}`);
    expect((await response).headers["content-encoding"]).toBeUndefined();
    const error = await head("/accounts?page=0", GZIP);
    expect([error.statusCode, error.headers["content-encoding"]]).toEqual([400, undefined]);
    expect(error.headers["x-error-code"]).toBe("VALIDATION_FAILED");
  });
});

describe("a streamed list that is compressed", () => {
  it("arrives chunk by chunk: no chunk waits for the next one", async () => {
    const response = head("/accounts", GZIP);
    const list = await asked();
    list.write('{"accounts":[1');
    const answer = await response;
    expect(answer.headers["content-encoding"]).toBe("gzip");
    const text = answer.pipe(createGunzip()).setEncoding("utf8");
    const [first] = (await once(text, "data")) as [string];
    expect(first).toBe('{"accounts":[1');
    list.write(",2");
    const [second] = (await once(text, "data")) as [string];
    expect(second).toBe(",2");
    list.end("]}");
    expect(((await once(text, "data")) as [string])[0]).toBe("]}");
    await once(text, "end");
  });

  it("is aborted when the owner's response breaks off", async () => {
    const response = head("/accounts", GZIP);
    const list = await asked();
    list.write('{"accounts":[1');
    const answer = await response;
    const text = answer.pipe(createGunzip()).setEncoding("utf8");
    await once(text, "data");
    list.destroy();
    await expect(once(answer, "end")).rejects.toThrow("aborted");
  });
});

describe("a response with passwords", () => {
  it("is not compressed", async () => {
    const accounts = [accountBody(), accountBody(), accountBody()];
    const path = `servers/${organization.server.serverId}/accounts/bulk`;
    const headers = { ...GZIP, "idempotency-key": "not-compressed" };
    const accepted = await call(platform.url, organization, path, { body: { accounts }, headers });
    expect(accepted.status).toBe(202);
    expect(accepted.headers.get("content-encoding")).toBeNull();
    expect(Buffer.byteLength(JSON.stringify(accepted.body))).toBeGreaterThan(1_024);
  });
});
