/** `kapi listen` forwards events to a program on the developer's machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";

import { OutsideClient } from "./outside-client.ts";
import { type RunningSystem, startSystem } from "./system.ts";
import { TradingControl } from "./trading-control.ts";
import { verified, WebhookReceiver } from "./webhook-receiver.ts";

const MAIN = path.resolve(import.meta.dirname, "../../deploy/cli/src/main.ts");
/** Longer than `kapi listen` waits for a program that is not running. */
const LONG_MS = 20_000;

/** A running `kapi listen`. */
interface Listening {
  readonly lines: () => string[];
  readonly errors: () => string;
  /** The signing secret that `kapi listen` prints at its start; "" before. */
  readonly secret: () => string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  /** Sends SIGINT, as Ctrl-C does. Resolves with the exit code. */
  end(): Promise<number | null>;
}

let system: RunningSystem;
let client: OutsideClient;
let control: TradingControl;
let receiver: WebhookReceiver;
let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  system = await startSystem({}, { together: false });
  client = new OutsideClient(system.demo);
  control = new TradingControl(system.demo);
  folder = mkdtempSync(path.join(tmpdir(), "kapi-listen-"));
});

afterAll(async () => {
  await system.stop();
  rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  receiver = await WebhookReceiver.start();
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await receiver.stop();
});

function run(options: readonly string[], env: Readonly<Record<string, string>> = {}): Listening {
  const child = spawn(process.execPath, [MAIN, "listen", ...options], {
    env: { ...process.env, XDG_CONFIG_HOME: folder, ...env },
  });
  children.push(child);
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return {
    lines: () => out.split("\n").slice(0, -1),
    errors: () => err,
    secret: () => /whsec_[\w+/=]+/.exec(out)?.[0] ?? "",
    ended,
    end: () => {
      child.kill("SIGINT");
      return ended;
    },
  };
}

/** Starts `kapi listen` for the receiver, and waits until the command has printed its secret. */
async function listen(...options: string[]): Promise<Listening> {
  const { baseUrl: KAPI_URL, managementKey: KAPI_KEY } = system.demo;
  const listening = run(["--forward-to", receiver.url, ...options], { KAPI_URL, KAPI_KEY });
  await eventually(() => listening.secret() !== "" && listening.lines().length > 0);
  return listening;
}

/** Kinds of the received events of an account, in order. Fails if an event arrived twice. */
function typesOf(accountNumber: string): string[] {
  const about = receiver.received.filter(({ event }) => event.data.accountNumber === accountNumber);
  expect(new Set(about.map(({ headers }) => headers["webhook-id"])).size).toBe(about.length);
  return about.map(({ event }) => event.type);
}

it("kapi listen forwards only events after its start, signed with the printed secret, and prints a line for each", async () => {
  const before = await client.openAccount(10);
  const listening = await listen();
  const number = await client.openAccount(1_000);
  const created = await eventually(() => receiver.ofType("account.created").at(0) ?? false);
  expect(created.event.data.accountNumber).toBe(number);
  expect(verified(listening.secret(), created)).toEqual(created.event);
  expect(() => verified(listening.secret(), { ...created, body: `${created.body} ` })).toThrow(/signature/i);
  await eventually(() => {
    const line = listening.lines().find((text) => text.includes("account.created"));
    expect(line).toMatch(new RegExp(`^\\S+Z  account\\.created +${number}  200  \\d+ ms$`));
  });
  expect(typesOf(before)).toEqual([]);
  expect(await listening.end()).toBe(0);
});

it("kapi listen neither misses nor repeats an event after the API was unavailable, or when --after continues an earlier run", async () => {
  const number = await client.openAccount(1_000);
  const listening = await listen("--json", "--kinds", "position.opened,position.closed");
  const position = await control.buy(number, "EURUSD", 0.1);
  await eventually(() => typesOf(number).length === 1);
  system.stack.process("gateway").kill("SIGKILL");
  await eventually(() => listening.errors().includes("kapi listen tries again"));
  await control.close(number, position);
  const second = await control.buy(number, "EURUSD", 0.2);
  await system.stack.process("gateway").restart();
  const expected = ["position.opened", "position.closed", "position.opened"];
  await eventually(() => expect(typesOf(number)).toEqual(expected), { timeoutMs: LONG_MS });
  expect(await listening.end()).toBe(0);
  const { after } = JSON.parse(listening.lines().at(-1) ?? "") as { after: string };

  await control.close(number, second);
  await listen("--after", after, "--kinds", "position.closed");
  await eventually(() => expect(typesOf(number)).toEqual([...expected, "position.closed"]));
});

it("kapi listen retries for some seconds while the receiver is not running, and reports an error status or a missing answer", async () => {
  const { port } = receiver;
  const listening = await listen("--kinds", "account.created,account.disabled");
  await receiver.stop();
  const number = await client.openAccount(10);
  await receiver.listen(port);
  await eventually(() => expect(typesOf(number)).toEqual(["account.created"]), { timeoutMs: LONG_MS });
  receiver.reply = { status: 500, body: "no" };
  const other = await client.openAccount(10);
  await eventually(() => listening.lines().some((line) => line.includes(`${other}  500`)));
  await receiver.stop();
  const third = await client.openAccount(10);
  await eventually(() => listening.lines().some((line) => line.includes(`${third}  no answer after 6 attempts`)), {
    timeoutMs: LONG_MS,
  });
  receiver = await WebhookReceiver.start();
});

it("without other settings, kapi listen uses the address and the key of the demo that runs from this checkout", async () => {
  const stateDir = `${system.stack.environment.stateDir}-stack`;
  writeFileSync(path.join(stateDir, "demo.json"), JSON.stringify(system.demo));
  const env = { KAPI_STATE_DIR: stateDir };
  const listening = run(["--forward-to", receiver.url, "--kinds", "account.created"], env);
  await eventually(() => listening.secret() !== "");
  const number = await client.openAccount(10);
  await eventually(() => typesOf(number).length === 1);
  expect(listening.lines()[0]).toContain(`Events of ${system.demo.baseUrl} go to ${receiver.url}`);
});

it("kapi listen prints why it cannot listen, and exits with the code of that error", async () => {
  const to = ["--forward-to", receiver.url];
  const { baseUrl: KAPI_URL, managementKey: KAPI_KEY } = system.demo;
  const state = { KAPI_STATE_DIR: folder };
  const ends: [readonly string[], Record<string, string>, number, string][] = [
    [to, { KAPI_URL, KAPI_KEY: "kapi.unknown.key" }, 4, "AUTHENTICATION_REQUIRED"],
    [[...to, "--after", "nowhere"], { KAPI_URL, KAPI_KEY }, 1, "after: must be a cursor"],
    [to, { KAPI_URL: "http://127.0.0.1:1", KAPI_KEY: "kapi.some.key" }, 3, "127.0.0.1:1"],
    [to, state, 2, "kapi login"],
    [[...to, "--kinds", "everything"], { KAPI_URL, KAPI_KEY }, 1, "kinds.0: Invalid option"],
    [["--forward-to", "localhost:3000"], state, 2, "It must be an address"],
  ];
  const runs = ends.map(([options, env, code, words]) => ({ listening: run(options, env), code, words }));
  for (const { listening, code, words } of runs) {
    expect([words, await listening.ended]).toEqual([words, code]);
    expect(listening.errors()).toContain(words);
  }
});
