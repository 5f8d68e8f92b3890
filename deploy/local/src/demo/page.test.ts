import { commandIdOf } from "@kapi/kernel";
import { expect, it } from "vitest";

import { commands } from "./page.ts";

it("npm start prints two shell commands: the first queues a command of kapi, and the second reads the same command", () => {
  const organizationId = "0b0c8a3e-5b0e-4c56-9f0a-111111111111";
  const demo = {
    baseUrl: "http://127.0.0.1:8080",
    wsBase: "ws://127.0.0.1:8081",
    tradingServerUrl: "http://127.0.0.1:8090",
    managementKey: "kapi.key.secret",
    organizationId,
    serverId: "0b0c8a3e-5b0e-4c56-9f0a-222222222222",
    consoleUrl: "http://127.0.0.1:8082/console/",
    consoleEmail: "demo@example.com",
    consolePassword: "twelve characters",
    accountNumbers: [],
  };
  const [[, create], [, read]] = commands(demo) as [[string, string], [string, string]];
  const key = /Idempotency-Key: ([^']+)/.exec(create)?.[1] ?? "";
  expect(key).not.toBe("");
  expect(read).toContain(commandIdOf(organizationId, key));
});
