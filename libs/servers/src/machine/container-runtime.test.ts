import http from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, expect, it, vi } from "vitest";

import { removeContainer } from "./container-runtime.ts";

/** A Docker engine that knows no container and cannot remove the container "404abc". */
const engine = http.createServer(({ method, url = "" }, response) => {
  const status = method !== "DELETE" ? 200 : url.includes("404abc") ? 500 : 404;
  const message = status === 500 ? "cannot remove container 404abc" : "No such container";
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ message }));
});
beforeAll(async () => {
  await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("DOCKER_HOST", `tcp://127.0.0.1:${(engine.address() as AddressInfo).port}`);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  engine.closeAllConnections();
  await new Promise((resolve) => engine.close(resolve));
});

it("the removal of a container that no longer exists does not fail", async () => {
  await removeContainer("abc");
});

it("an error about a container whose id contains 404 is reported", async () => {
  await expect(removeContainer("404abc")).rejects.toThrow("cannot remove container 404abc");
});
