import { assertDefined } from "@kapi/kernel";
import { createOrganization, type ReadyOrganization } from "@kapi/local";
import { type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";

import { OutsideClient } from "../e2e/outside-client.ts";
import { TradingControl } from "../e2e/trading-control.ts";
import { WebhookReceiver } from "../e2e/webhook-receiver.ts";
import { Checker, type CheckerOptions } from "../live/checker.ts";
import type { RandomSource } from "../live/random-source.ts";
import type { Violations } from "../live/violations.ts";
import { SampleLedger } from "../live/sample-ledger.ts";
import type { Account } from "./operation-log.ts";
import { PublicApi } from "./public-api.ts";
import type { Recovery } from "./recovery.ts";
import type { Settings } from "./settings.ts";

const CREDITS = 100_000_000;
export const INITIAL_BALANCE = 1_000_000;
export const INITIAL_BALANCE_MINOR = INITIAL_BALANCE * 100;
/** Number of accounts of each organization that trade automatically. */
const TRADING_EACH = 3;
/** Number of accounts of each organization with risk rules: the trading ones, and one more. */
const RULED_EACH = 4;
const TRADE_EVERY_TICKS = 5;
const KNOWN_TIMEOUT_MS = 60_000;
/** Path prefix of the webhook endpoints; the index of the organization follows. */
const HOOKS = "/hook/";
/** Number of live clients of each organization. */
const CHECKERS_EACH = 2;
/**
 * Average time after which a client closes its own socket, and reconnects. The first client of each
 * organization keeps its socket.
 */
const MEAN_CUT_MS = 30_000;

/** A live client that subscribes to the accounts of one organization. */
export class OrganizationChecker extends Checker {
  readonly organization: number;
  readonly #balances = new Map<string, number>();

  constructor(organization: number, options: CheckerOptions) {
    super({
      ...options,
      onSample: (sample) => {
        this.#balances.set(sample.accountNumber, Math.round(sample.balance * 100));
        options.onSample?.(sample);
      },
    });
    this.organization = organization;
  }

  /** The balance in the last processed sample of the account. */
  balanceMinor(accountNumber: string): number | null {
    return this.#balances.get(accountNumber) ?? null;
  }
}

export interface Organization extends ReadyOrganization {
  readonly api: PublicApi;
  readonly client: OutsideClient;
  /** Path of its webhook endpoint at the receiver. */
  readonly hook: string;
}

/**
 * The test objects of the oracle: organizations in many wallet shards, accounts, a webhook receiver
 * and live sockets.
 */
export interface ClusterHarness {
  readonly organizations: readonly Organization[];
  readonly accounts: readonly Account[];
  readonly receiver: WebhookReceiver;
  readonly checkers: readonly OrganizationChecker[];
  /** Moves a price of one organization's trading server by this many points. */
  readonly moveMarket: (organization: number, symbol: string, points: number) => Promise<void>;
  /** Stops automatic trading and the market of every organization's trading server. */
  endTrading(): Promise<void>;
  stop(): Promise<void>;
}

/** Opens the harness. It reports live samples and deliveries to `recovery`. */
export async function openClusterHarness(
  stack: TestStack,
  settings: Settings,
  random: RandomSource,
  violations: Violations,
  recovery: Recovery,
): Promise<ClusterHarness> {
  const receiver = await WebhookReceiver.start(({ path, event }) => {
    recovery.delivered(Number(path.replace(HOOKS, "")), Date.parse(event.timestamp));
  });
  const organizations: Organization[] = [];
  for (let at = 0; at < settings.organizations; at += 1)
    organizations.push(await openOrganization(stack, receiver, at));
  const accounts: Account[] = [];
  for (let turn = 0; turn < settings.accountsEach; turn += 1) {
    const numbers = await Promise.all(organizations.map(({ client }) => client.openAccount(INITIAL_BALANCE)));
    const [trades, ruled] = [turn < TRADING_EACH, turn < RULED_EACH];
    accounts.push(...numbers.map((number, organization) => ({ organization, number, trades, ruled })));
  }
  const trading = accounts.filter(({ trades }) => trades);
  const controlOf = (organization: number): TradingControl =>
    new TradingControl(assertDefined(organizations[organization], "the organization of an account").client.demo);
  await Promise.all(
    trading.map(({ organization, number }) => controlOf(organization).autoTrade(number, TRADE_EVERY_TICKS)),
  );
  const checkers = organizations.flatMap(({ serverId, managementKey }, organization) => {
    // Account numbers are unique only within one server, so each organization has its own
    // `SampleLedger`.
    const ledger = new SampleLedger(violations);
    return Array.from({ length: CHECKERS_EACH }, (_, at) => {
      const own = accounts.filter((account) => account.organization === organization);
      const byNumber = new Map(own.map((account) => [account.number, account]));
      const checker = new OrganizationChecker(organization, {
        name: `live ${organization}-${at}`,
        managementKey,
        serverId,
        accounts: own.map(({ number }) => number),
        address: () => stack.wsBase,
        violations,
        ledger,
        random: random.fork(),
        onSample: ({ accountNumber, measuredAt }) => {
          const account = byNumber.get(accountNumber);
          if (account !== undefined) recovery.sampled(account, Date.parse(measuredAt));
        },
        ...(at === 0 ? {} : { meanCutMs: MEAN_CUT_MS }),
      });
      checker.start();
      return checker;
    });
  });
  const stop = async (): Promise<void> => {
    await Promise.all(checkers.map((checker) => checker.stop()));
    await receiver.stop();
  };
  const endTrading = async (): Promise<void> => {
    await Promise.all(trading.map(({ organization, number }) => controlOf(organization).endAutoTrade(number)));
    await Promise.all(organizations.map((_, organization) => controlOf(organization).pauseMarket()));
  };
  const moveMarket = (organization: number, symbol: string, points: number): Promise<void> =>
    controlOf(organization).movePrice(symbol, points);
  return { organizations, accounts, receiver, checkers, moveMarket, endTrading, stop };
}

async function openOrganization(stack: TestStack, receiver: WebhookReceiver, at: number): Promise<Organization> {
  const made = await createOrganization(stack, { name: `Oracle ${at}`, credits: CREDITS });
  const demo = { ...made, baseUrl: stack.baseUrl, wsBase: stack.wsBase, tradingServerUrl: stack.tradingServerUrl };
  const api = new PublicApi(stack.baseUrl, made.managementKey);
  await eventually(() => api.get("/credits/balance"), { timeoutMs: KNOWN_TIMEOUT_MS, intervalMs: 200 });
  const hook = HOOKS + at;
  const url = `http://127.0.0.1:${receiver.port}${hook}`;
  await eventually(
    async () => {
      const { status } = await api.call({ method: "POST", path: "/webhooks", body: { url } });
      return status === 201;
    },
    { timeoutMs: KNOWN_TIMEOUT_MS, intervalMs: 500 },
  );
  return { ...made, api, client: new OutsideClient(demo), hook };
}
