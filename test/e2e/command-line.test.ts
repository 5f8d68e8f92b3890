/** The commands of `kapi` that a new integrator needs. Each command is a separate process. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { type RunningSystem, startSystem } from "./system.ts";
import { verified, WebhookReceiver } from "./webhook-receiver.ts";

const MAIN = path.resolve(import.meta.dirname, "../../libs/client/src/cli/main.ts");

/** A command that runs, or has ended. */
interface Run {
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  /** Sends SIGINT, as Ctrl-C does. Resolves with the exit code. */
  stop(): Promise<number | null>;
}

let system: RunningSystem;
let folder: string;
let accountNumber: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  system = await startSystem();
  folder = mkdtempSync(path.join(tmpdir(), "kapi-command-line-"));
});

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await system.stop();
  rmSync(folder, { recursive: true });
});

function start(args: readonly string[], input = ""): Run {
  const { PATH } = process.env;
  const { tradingServerUrl: KAPI_CONTROL_URL, controlToken: KAPI_CONTROL_TOKEN } = system.demo as {
    tradingServerUrl: string;
    controlToken?: string;
  };
  const env = { PATH, XDG_CONFIG_HOME: folder, KAPI_CONTROL_URL, KAPI_CONTROL_TOKEN };
  const child = spawn(process.execPath, [MAIN, ...args], { env });
  children.push(child);
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const stop = (): Promise<number | null> => {
    child.kill("SIGINT");
    return ended;
  };
  return { out: () => out, err: () => err, ended, stop };
}

/** Runs a command that must succeed, and returns what it wrote to standard output. */
async function kapi(...args: string[]): Promise<string> {
  const run = start(args);
  const code = await run.ended;
  expect({ args, code, err: run.err() }).toMatchObject({ code: 0 });
  return run.out();
}

function lines<T>(text: string): T[] {
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as T]));
}

it("`kapi login` stores a key in a file that only the user can read, and only after a request with the key succeeded", async () => {
  const { baseUrl, wsBase, serverId, managementKey } = system.demo;
  const addresses = ["--base-url", baseUrl, "--live-url", wsBase, "--server", serverId];
  const wrong = start(["login", ...addresses, "--key-stdin"], "kapi.aaaaaaaaaaaaaaaa.wrong\n");
  expect([await wrong.ended, wrong.out()]).toEqual([4, ""]);
  const file = path.join(folder, "kapi", "config.json");
  expect(existsSync(file)).toBe(false);
  const login = start(["login", ...addresses, "--key-stdin"], `${managementKey}\n`);
  expect([await login.ended, login.err()]).toEqual([0, ""]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await kapi("status")).toContain(baseUrl);
  expect(await kapi("status")).not.toContain(managementKey);
});

it("the command line creates an account, deposits once for each idempotency key, and lists transactions, accounts and commands", async () => {
  const create = ["accounts", "create", "--name", "Ada Obi", "--balance", "100", "--leverage", "100", "--key", "ada"];
  const created = JSON.parse(await kapi(...create, "--json")) as {
    result: { accountNumber: string };
    tradingPassword: string;
  };
  accountNumber = created.result.accountNumber;
  expect(created.tradingPassword.length).toBeGreaterThanOrEqual(8);
  for (let time = 0; time < 2; time += 1) await kapi("accounts", "deposit", accountNumber, "250.55", "--key", "payout");
  const booked = lines(await kapi("accounts", "transactions", accountNumber, "--json"));
  expect(booked).toMatchObject([
    { type: "deposit", amount: "250.55", balanceAfter: "350.55" },
    { type: "initial_balance", amount: "100.00" },
  ]);
  expect(await kapi("accounts", "list", "--search", "Ada")).toMatch(
    new RegExp(`^NUMBER .*\\n${accountNumber} +Ada Obi +active +350\\.55 `),
  );
  expect(lines(await kapi("commands", "list", "--account", accountNumber, "--json"))).toHaveLength(2);
});

it("`kapi accounts withdraw` exits with 1 if the withdrawal fails, and prints why", async () => {
  const run = start(["accounts", "withdraw", accountNumber, "5000"]);
  expect(await run.ended).toBe(1);
  expect(run.err()).toContain("INSUFFICIENT_FUNDS");
});

it("the command line shows billed requests, and events", async () => {
  await eventually(async () => expect(await kapi("logs", "--operation", "depositAccountFunds")).toMatch(/deposit/));
  const events = lines<{ type: string }>(await kapi("events", "list", "--limit", "500", "--json"));
  expect(events).toContainEqual(expect.objectContaining({ type: "account.created" }));
});

const KINDS = ["position.closed", "position.updated", "order.cancelled", "transaction.recorded", "margin.call"];
it.each(KINDS)("`kapi trigger` makes %s happen on a simulated server, and shows its event", async (kind) => {
  const given = kind === "margin.call" ? [] : ["--account", accountNumber];
  const events = lines<{ type: string }>(await kapi("trigger", kind, ...given, "--json"));
  expect(events.at(-1)).toMatchObject({ type: kind });
});

it("`kapi listen` forwards events as deliveries, with a secret that the next start uses again", async () => {
  const receiver = await WebhookReceiver.start();
  const listening = start(["listen", "--forward-to", receiver.url]);
  const secretIn = (run: Run): string => /whsec_[\w+/=]+/.exec(run.out())?.[0] ?? "";
  await eventually(() => secretIn(listening) !== "");
  await kapi("trigger", "transaction.recorded", "--account", accountNumber);
  const delivered = await eventually(() => receiver.ofType("transaction.recorded").at(0) ?? false);
  expect(verified(secretIn(listening), delivered)).toMatchObject({ data: { amount: 1 } });
  expect(await listening.stop()).toBe(0);
  const again = start(["listen", "--forward-to", receiver.url]);
  await eventually(() => secretIn(again) !== "");
  expect(secretIn(again)).toBe(secretIn(listening));
  expect(await again.stop()).toBe(0);
  await receiver.stop();
});

it("`kapi risk-templates` sets a template from a file, prints it in a form that `set` accepts, and deletes it only with --account-rules", async () => {
  const file = path.join(folder, "template.json");
  const rules = [{ id: "floor", type: "maxLoss", limit: { amount: 500.5 }, action: "notify" }];
  const template = { rules, appliesTo: { nameStartsWith: "Command line" }, newAccounts: true };
  writeFileSync(file, JSON.stringify(template));
  expect(await kapi("risk-templates", "set", "cli", file)).toMatch(/version +1/);
  writeFileSync(file, await kapi("risk-templates", "get", "cli", "--json"));
  expect(await kapi("risk-templates", "set", "cli", file)).toMatch(/version +2/);
  const [listed] = lines<object>(await kapi("risk-templates", "list", "--json"));
  const shown = [{ ...rules[0], limit: { amount: "500.50" } }];
  expect(listed).toMatchObject({ ...template, rules: shown, name: "cli", version: 2 });
  const unclear = start(["risk-templates", "delete", "cli"]);
  expect(await unclear.ended).toBe(2);
  await kapi("risk-templates", "delete", "cli", "--account-rules", "keep");
  expect(await kapi("risk-templates", "list", "--json")).toBe("");
});

it("`kapi stream` shows the live values of an account until Ctrl-C", async () => {
  const streaming = start(["stream", accountNumber, "--json"]);
  await eventually(() => streaming.out().includes("\n"));
  expect(await streaming.stop()).toBe(0);
  expect(lines(streaming.out())[0]).toMatchObject({ type: "account.metrics", accountNumber });
});
