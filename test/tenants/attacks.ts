/**
 * Attacks of one organization on others through the API. During some attacks, the attacker's
 * trading server hangs or is unreachable, or the name server of webhooks does not answer.
 */
import { randomUUID } from "node:crypto";

import { crowd } from "../e2e/attacks.ts";
import { type OutsideClient, pause } from "../e2e/outside-client.ts";
import { TradingControl } from "../e2e/trading-control.ts";

const SLOW_READERS = 30;
const SEARCHERS = 24;
const DETAIL_READERS = 100;
const WAITING_REQUESTS = 1_100;
const ENDPOINTS = 20;
const DEPOSITORS = 4;
const READERS_OF_EACH_KIND = 64;
/** Longer than every time limit for an answer of a trading server. */
const HANG_MS = 20_000;
/** Pause after a request that was not answered 2xx, and after every deposit. */
const PAUSE_MS = 100;

/** A running attack. */
export interface RunningAttack {
  /**
   * Number of answers by status. Repeated requests ({@link flood}) without an answer count as
   * status 0; other requests without an answer are not counted.
   */
  readonly statuses: ReadonlyMap<number, number>;
  stop(): Promise<void>;
}

export interface Attack {
  readonly name: string;
  start(attacker: OutsideClient): Promise<RunningAttack>;
}

/**
 * All attacks. `account` belongs to the attacker. While an attack sets `silence.isOn`, the name
 * server of webhooks must not answer.
 */
export function attacks(account: string, silence: { isOn: boolean }): Attack[] {
  return [
    {
      name: `${SLOW_READERS} slow readers of the list of all accounts`,
      start: async (attacker) => {
        const readers = await crowd(attacker, attacker.server("/accounts"), SLOW_READERS);
        return { statuses: readers.statuses, stop: () => readers.leave() };
      },
    },
    {
      name: `${SEARCHERS} searches at once that find nothing`,
      start: (attacker) => flood(attacker, SEARCHERS, ["/accounts?search=nobody%20has%20this&limit=20"]),
    },
    {
      name: `${DETAIL_READERS} readers of details, trading server hangs`,
      start: async (attacker) => {
        const control = new TradingControl(attacker.demo);
        await control.inject({ kind: "delay", count: null, delayMs: HANG_MS });
        const running = await flood(attacker, DETAIL_READERS, [`/accounts/${account}`]);
        const stop = async (): Promise<void> => {
          await running.stop();
          await control.clearFaults();
        };
        return { statuses: running.statuses, stop };
      },
    },
    {
      name: `${WAITING_REQUESTS} requests that wait for a command`,
      start: async (attacker) => {
        const control = new TradingControl(attacker.demo);
        await control.inject({ kind: "unreachable", count: null });
        const { command } = (await attacker.deposit(account, { amount: 1, requestId: randomUUID() })).body;
        const waiting = await crowd(attacker, `/commands/${command.id}?wait=30`, WAITING_REQUESTS);
        const stop = async (): Promise<void> => {
          await waiting.leave();
          await control.clearFaults();
        };
        return { statuses: waiting.statuses, stop };
      },
    },
    {
      name: `${ENDPOINTS} endpoints whose name server never answers`,
      start: async (attacker) => {
        silence.isOn = false;
        for (let n = 0; n < ENDPOINTS; n += 1) await createEndpoint(attacker, n);
        silence.isOn = true;
        const deposits = await flood(attacker, DEPOSITORS, [], async () => {
          const { status } = await attacker.deposit(account, { amount: 1, requestId: randomUUID() });
          await pause(PAUSE_MS);
          return status;
        });
        const stop = async (): Promise<void> => {
          await deposits.stop();
          silence.isOn = false;
        };
        return { statuses: deposits.statuses, stop };
      },
    },
    {
      name: `${READERS_OF_EACH_KIND} readers of each of seven lists`,
      start: (attacker) => {
        const lists = ["transactions", "orders", "positions?status=open", "deals"];
        const ofAccount = lists.map((list) => `/accounts/${account}/${list}`);
        const others = ["/commands?limit=100", "/account-metrics?limit=100", "/accounts?limit=100"];
        return flood(attacker, READERS_OF_EACH_KIND * (lists.length + others.length), [...ofAccount, ...others]);
      },
    },
  ];
}

async function createEndpoint(attacker: OutsideClient, name: number): Promise<void> {
  const url = `https://${name}.silent.example/hook`;
  const { status } = await attacker.call("POST", "/webhooks", { body: { url, description: "Attack" } });
  if (status !== 201) throw new Error(`the creation of the endpoint ${url} was answered ${status}`);
}

/**
 * Starts `width` callers. Until `stop`, each caller repeats `send` or, without `send`, a GET of one
 * of the paths.
 */
async function flood(
  attacker: OutsideClient,
  width: number,
  paths: readonly string[],
  send?: () => Promise<number>,
): Promise<RunningAttack> {
  const statuses = new Map<number, number>();
  const over = new AbortController();
  const read = async (path: string): Promise<number> => (await attacker.call("GET", attacker.server(path))).status;
  const caller = async (_: unknown, index: number): Promise<void> => {
    while (!over.signal.aborted) {
      const asked = send?.() ?? read(paths[index % paths.length] ?? "");
      const status = await asked.catch(() => 0);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status < 200 || status > 299) await pause(PAUSE_MS);
    }
  };
  const callers = Array.from({ length: width }, caller);
  const stop = async (): Promise<void> => {
    over.abort();
    await Promise.all(callers);
  };
  return { statuses, stop };
}
