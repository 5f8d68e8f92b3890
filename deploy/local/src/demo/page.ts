import path from "node:path";

import { commandIdOf } from "@kapi/kernel";

import type { Stack } from "../stack.ts";
import type { DemoWithAccounts } from "./demo.ts";

const LABEL_WIDTH = 16;

/** The text that `npm start` prints at the end: addresses, credentials and three shell commands. */
export function readyPage(stack: Stack, demo: DemoWithAccounts, stateDir: string): string {
  const row = (label: string, value: string): string => `  ${label.padEnd(LABEL_WIDTH)}${value}`;
  const shownState = path.relative(process.cwd(), stateDir) || ".";
  return [
    "",
    "kapi is ready",
    "",
    row("API", demo.baseUrl),
    row("Documentation", `${demo.baseUrl}/docs  (OpenAPI: ${demo.baseUrl}/openapi.json)`),
    row("Live metrics", `${demo.wsBase}/api/v1/management/live-metrics`),
    row("Console", `${demo.consoleUrl}  (${demo.consoleEmail}, password ${demo.consolePassword})`),
    row("Trading server", `${demo.tradingServerUrl}  (control API)`),
    row("Management key", demo.managementKey),
    row("Organization", demo.organizationId),
    row("Server", demo.serverId),
    row("Accounts", `${demo.accountNumbers.join(", ")}  (trade automatically)`),
    row("Command line", "npm run kapi -- --help  (uses this organization)"),
    row("Kafka", stack.servers.kafkaBrokers),
    row("State and logs", `${shownState}, ${shownState}/logs; for programs: ${shownState}/demo.json`),
    "",
    "Try, in another terminal:",
    "",
    ...commands(demo).flatMap(([title, command]) => [`# ${title}`, command, ""]),
    "Ctrl-C stops everything; the next start continues with the same data.",
    "",
  ].join("\n");
}

/** Titles and shell commands. Each shell command works as printed and can be repeated. */
export function commands(demo: DemoWithAccounts): [string, string][] {
  const api = `${demo.baseUrl}/api/v1/management`;
  const key = `-H 'Authorization: Management ${demo.managementKey}'`;
  const body = JSON.stringify({
    accountName: "My first account",
    initialBalance: 1000,
    leverage: 100,
    requestId: "my-first-request",
  });
  const idempotencyKey = "my-first-account";
  return [
    [
      "Create an account; the same request again returns the same command",
      `curl -s ${api}/servers/${demo.serverId}/accounts ${key} -H 'Idempotency-Key: ${idempotencyKey}' -H 'Content-Type: application/json' -d '${body}'`,
    ],
    [
      "Read that command until it has succeeded: its result names the account",
      `curl -s '${api}/commands/${commandIdOf(demo.organizationId, idempotencyKey)}?wait=5' ${key}`,
    ],
    [
      "List the accounts with their current values; equity changes with the market prices",
      `curl -s ${api}/servers/${demo.serverId}/accounts ${key}`,
    ],
  ];
}
