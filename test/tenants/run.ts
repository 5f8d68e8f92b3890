/**
 * `npm run scenario -- tenants`: runs a whole kapi in which one organization attacks another one
 * through the API. Prints the durations of the other organization's requests, before and during
 * each attack, and its errors during the attack. Exits with 1 if there was such an error.
 * `TENANTS_SECONDS` is the duration of each measurement, `TENANTS_ACCOUNTS` the number of the
 * attacker's accounts.
 */
import { randomUUID } from "node:crypto";

import { createOrganization } from "@kapi/local";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";

import startServers from "../../libs/testkit/src/global-setup.ts";
import { NameServer } from "../../services/webhooks/test/name-server.ts";
import { type Seen, seenBy } from "../e2e/attacks.ts";
import { OutsideClient, pause } from "../e2e/outside-client.ts";
import { WebhookReceiver } from "../e2e/webhook-receiver.ts";
import { connectToAccounts, fillAccounts } from "../load/history-fill.ts";
import { attacks, type Attack } from "./attacks.ts";

const SECONDS = Number(process.env["TENANTS_SECONDS"] ?? 10);
const ACCOUNTS = Number(process.env["TENANTS_ACCOUNTS"] ?? 300_000);
const CREDITS = 100_000_000;
const KNOWN_TIMEOUT_MS = 30_000;
/**
 * Wait after the start of an attack, until the attack has its full effect; and after the end of the
 * attack, until the effect has ended.
 */
const SETTLE_MS = 3_000;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** The organization that works normally. It sends requests, and waits for its webhooks. */
class Victim {
  readonly #client: OutsideClient;
  readonly #account: string;
  readonly #receiver: WebhookReceiver;
  #turn = 0;

  constructor(client: OutsideClient, account: string, receiver: WebhookReceiver) {
    this.#client = client;
    this.#account = account;
    this.#receiver = receiver;
  }

  /**
   * Sends the next of five requests in turn: four reads and a deposit. For a read, returns the
   * status. For a deposit, returns 200 if the command succeeded, or the status of the rejection.
   */
  readonly work = async (): Promise<number> => {
    this.#turn += 1;
    const account = `/accounts/${this.#account}`;
    const paths = [
      account,
      "/accounts?limit=20",
      `${account}/transactions?limit=20`,
      "/accounts?search=outside&limit=20",
    ];
    const path = paths[this.#turn % (paths.length + 1)];
    if (path === undefined) return (await this.#deposit()).status;
    return (await this.#client.call("GET", this.#client.server(path))).status;
  };

  /** Sends a deposit and waits for its webhook. Returns 200, or the status of the rejection. */
  readonly webhook = async (): Promise<number> => {
    const { status, transactionId } = await this.#deposit();
    if (status !== 200) return status;
    const isOfDeposit = ({ body }: { readonly body: string }): boolean => body.includes(transactionId);
    await eventually(() => this.#receiver.received.some(isOfDeposit), { timeoutMs: KNOWN_TIMEOUT_MS });
    return 200;
  };

  async #deposit(): Promise<{ readonly status: number; readonly transactionId: string }> {
    const body = { amount: 1, requestId: randomUUID() };
    const answer = await this.#client.deposit(this.#account, body);
    if (answer.status !== 202) return { status: answer.status, transactionId: "" };
    const { result } = await this.#client.succeeded(answer.body.command.id);
    return { status: 200, transactionId: String(result?.["transactionId"]) };
  }
}

async function organization(stack: TestStack, name: string): Promise<OutsideClient> {
  const { baseUrl, wsBase, tradingServerUrl } = stack;
  const made = await createOrganization(stack, { name, credits: CREDITS });
  const client = new OutsideClient({ baseUrl, wsBase, tradingServerUrl, ...made });
  const isKnown = async (): Promise<boolean> => (await client.call("GET", "/credits/balance")).status === 200;
  await eventually(isKnown, { timeoutMs: KNOWN_TIMEOUT_MS });
  return client;
}

interface Measured {
  readonly undisturbed: Seen;
  readonly attacked: Seen;
}

function line(what: string, { undisturbed, attacked }: Measured): string {
  const ratio = (attacked.p99Ms / Math.max(1, undisturbed.p99Ms)).toFixed(1);
  const figures = [attacked.answers, attacked.errors.length, undisturbed.p50Ms, attacked.p50Ms];
  const cells = [...figures, undisturbed.p99Ms, attacked.p99Ms, ratio].map((cell) => String(cell).padStart(9));
  return `${what.padEnd(52)}${cells.join("")}`;
}

async function measureAttack(attack: Attack, attacker: OutsideClient, victim: Victim): Promise<readonly string[]> {
  const work = (): Promise<[Seen, Seen]> =>
    Promise.all([seenBy(SECONDS * 1_000, victim.work), seenBy(SECONDS * 1_000, victim.webhook, 1)]);
  const [undisturbed, undisturbedWebhooks] = await work();
  const running = await attack.start(attacker);
  await pause(SETTLE_MS);
  const [attacked, attackedWebhooks] = await work();
  const statuses = JSON.stringify(Object.fromEntries(running.statuses));
  await running.stop();
  await pause(SETTLE_MS);
  say(line(attack.name, { undisturbed, attacked }));
  say(line("  deposits until their webhook", { undisturbed: undisturbedWebhooks, attacked: attackedWebhooks }));
  say(`  the attacker was answered ${statuses}`);
  return [...attacked.errors, ...attackedWebhooks.errors].map((error) => `${attack.name}: ${error}`);
}

const stopServers = await startServers();
const silence = { isOn: false };
const nameServer = await NameServer.start(() => (silence.isOn ? "silent" : { address: "127.0.0.1" }));
const receiver = await WebhookReceiver.start();
const env = { all: { QUOTES_FILE: "" }, webhooks: { WEBHOOK_NAME_SERVERS: nameServer.address } };
const stack = await startTestStack({ env });
try {
  const attacker = await organization(stack, "Attacker");
  const client = await organization(stack, "Victim");
  const [account, own] = [await client.openAccount(), await attacker.openAccount()];
  const database = await connectToAccounts(stack.environment.postgresUrl);
  await fillAccounts(database, attacker.demo, ACCOUNTS);
  await database.query("analyze");
  await database.end();
  await client.call("POST", "/webhooks", { body: { url: receiver.url, description: "Tenants" } });
  const victim = new Victim(client, account, receiver);
  await seenBy(SETTLE_MS, victim.work);
  const heads = ["requests", "errors", "p50", "attacked", "p99", "attacked", "ratio"].map((head) => head.padStart(9));
  say(`${"attack (times of the other organization in ms)".padEnd(52)}${heads.join("")}`);
  const violations: string[] = [];
  for (const attack of attacks(own, silence)) violations.push(...(await measureAttack(attack, attacker, victim)));
  for (const [violation, times] of Map.groupBy(violations, String))
    say(`VIOLATION ${violation}, ${times.length} times`);
  say(`violations ${violations.length}`);
  process.exitCode = violations.length === 0 ? 0 : 1;
} finally {
  await stack.stop();
  await receiver.stop();
  await nameServer.stop();
  await stopServers();
}
