/**
 * Starts kapi for the contract tests, with organizations, keys and servers, and an account with
 * history.
 */
import { randomUUID } from "node:crypto";

import { TOPICS } from "@kapi/contracts";
import { createKafka, startProducer, type Producer } from "@kapi/kafka";
import { createOrganization } from "@kapi/local";
import { createLogger } from "@kapi/runtime";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually, keyEntry, serverEntry } from "@kapi/testkit";

import { TradingControl } from "../e2e/trading-control.ts";
import { validBody } from "./bodies.ts";
import { Caller, type Target } from "./caller.ts";
import { DIGEST_DATE, type OperationRow, type Scope, SCOPES } from "./interface-tables.ts";

const CREDITS = 1_000_000;
const VISIBLE_MS = 20_000;
const BALANCE = "/api/v1/management/credits/balance";

export interface ContractHarness {
  readonly stack: TestStack;
  /** A key with all scopes, all servers and many credits. */
  readonly owner: Caller;
  /**
   * A server of the owner's organization, an account with orders, positions and deals, the command
   * that created this account, a breach of the account, and a risk template of the server.
   */
  readonly target: Target;
  /** A key with all scopes, of another organization without credits. */
  readonly poor: Caller;
  /**
   * The server of the organization of `poor`. The account, command, breach and template do not
   * exist.
   */
  readonly poorTarget: Target;
  /** Keys of the owner's organization with exactly one scope each. */
  readonly single: ReadonlyMap<Scope, Caller>;
  /** A key without scopes. */
  readonly withoutScope: Caller;
  /** A key with all scopes, only for `otherServerId`, not for the target's server. */
  readonly limited: Caller;
  /** A key with all scopes, only for the target's server. */
  readonly within: Caller;
  /** A key with all scopes and a rate limit of one request in 1,000 seconds. */
  readonly slow: Caller;
  /** A key with all scopes, of an organization without a wallet. */
  readonly walletless: Caller;
  /** Servers of the owner's organization. */
  readonly removedServerId: string;
  readonly disabledServerId: string;
  readonly otherServerId: string;
  /** Returns a key with all scopes, of a new organization with credits. */
  anotherOwner(): Promise<Caller>;
  stop(): Promise<void>;
}

/** Starts the services, and creates organizations, keys, servers and accounts. */
export async function startContractHarness({
  env = {},
  together = true,
}: {
  /** Variables of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether all services run in one process. */
  readonly together?: boolean;
} = {}): Promise<ContractHarness> {
  const stack = await startTestStack({
    together,
    env: {
      // A grace time of a day: kapi completes the digests of the day before yesterday, and never
      // those of yesterday. See DIGEST_DATE.
      all: { KAFKA_SESSION_TIMEOUT_MS: "6000", QUOTES_FILE: "", DIGEST_GRACE_MS: "86400000", ...env },
      "trading-simulator": { TICK_INTERVAL_MS: "200" },
    },
  });
  const directory = await directoryOf(stack);
  const stop = async (): Promise<void> => {
    await directory.stop();
    await stack.stop();
  };
  try {
    return { ...(await createTestData(stack, directory.value)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function createTestData(stack: TestStack, directory: Producer): Promise<Omit<ContractHarness, "stop">> {
  const [rich, poor] = await Promise.all([
    createOrganization(stack, { name: "Contract", credits: CREDITS }),
    createOrganization(stack, { name: "Poor", credits: 0 }),
  ]);
  const { organizationId } = rich;
  const caller = (managementKey: string): Caller => new Caller(stack.baseUrl, managementKey);
  const publishKey = async (overrides: Parameters<typeof keyEntry>[0]): Promise<Caller> => {
    const { entry, managementKey } = keyEntry({ organizationId, ...overrides });
    await publish(directory, `key/${entry.keyId}`, entry);
    return caller(managementKey);
  };
  const publishServer = async (overrides: Parameters<typeof serverEntry>[0]): Promise<string> => {
    const entry = serverEntry({ organizationId, tradingServerUrl: stack.tradingServerUrl, ...overrides });
    await publish(directory, `server/${entry.serverId}`, entry);
    return entry.serverId;
  };
  const [otherServerId, removedServerId, disabledServerId] = await Promise.all([
    publishServer({}),
    publishServer({ status: "removed" }),
    publishServer({ status: "disabled" }),
  ]);
  const single = new Map(
    await Promise.all(SCOPES.map(async (scope) => [scope, await publishKey({ scopes: [scope] })] as const)),
  );
  const withoutScope = await publishKey({ scopes: [] });
  const limited = await publishKey({ serverIds: [otherServerId] });
  const within = await publishKey({ serverIds: [rich.serverId] });
  const slow = await publishKey({ rateLimit: { perSecond: 0.001, burst: 1 } });
  const walletless = await publishKey({ organizationId: randomUUID() });
  const owner = caller(rich.managementKey);
  const poorCaller = caller(poor.managementKey);
  await Promise.all(
    [owner, poorCaller, ...single.values(), withoutScope, limited, within, slow, walletless].map((known) =>
      untilKnown(known),
    ),
  );
  const anotherOwner = async (): Promise<Caller> => {
    const { managementKey } = await createOrganization(stack, { name: "Another", credits: CREDITS });
    const another = caller(managementKey);
    await eventually(async () => (await another.send("GET", BALANCE)).status === 200, { timeoutMs: VISIBLE_MS });
    return another;
  };
  const target: Target = await accountWithHistory(stack, owner, rich.serverId, organizationId);
  const digests = `/api/v1/management/servers/${rich.serverId}/digests?date=${DIGEST_DATE}`;
  await eventually(async () => (await owner.send("GET", digests)).status === 200, { timeoutMs: VISIBLE_MS });
  const poorTarget: Target = {
    serverId: poor.serverId,
    accountNumber: "10000001",
    commandId: randomUUID(),
    breachId: randomUUID(),
    templateName: "none",
  };
  return {
    stack,
    owner,
    target,
    poor: poorCaller,
    poorTarget,
    single,
    withoutScope,
    limited,
    within,
    slow,
    walletless,
    removedServerId,
    disabledServerId,
    otherServerId,
    anotherOwner,
  };
}

/**
 * Creates an account with an initial balance, a closed position, an open position and a breach, and
 * a risk template. The result also has the command that created the account.
 */
async function accountWithHistory(
  stack: TestStack,
  owner: Caller,
  serverId: string,
  organizationId: string,
): Promise<Target> {
  const { accountNumber, commandId } = await newAccount(owner, serverId);
  const { baseUrl, wsBase, tradingServerUrl } = stack;
  const control = new TradingControl({
    baseUrl,
    wsBase,
    tradingServerUrl,
    serverId,
    organizationId,
    managementKey: owner.managementKey,
  });
  const closed = await control.buy(accountNumber, "EURUSD", 0.1);
  await control.close(accountNumber, closed);
  await control.buy(accountNumber, "EURUSD", 0.1);
  return {
    serverId,
    accountNumber,
    commandId,
    breachId: await newBreach(owner, { serverId, accountNumber }),
    templateName: await newTemplate(owner, serverId),
  };
}

/** Sets a rule that the account already breaches. Returns the id of the breach. */
export async function newBreach(
  owner: Caller,
  { serverId, accountNumber }: Pick<Target, "serverId" | "accountNumber">,
): Promise<string> {
  const account = `/api/v1/management/servers/${serverId}/accounts/${accountNumber}`;
  const rule = { id: "max", type: "maxLoss", limit: { amount: 1 }, startValue: 1_000_000, action: "notify" };
  const body = { rules: [rule], requestId: "setup" };
  const set = await owner.send("PUT", `${account}/risk-rules`, { body, idempotencyKey: `setup-${randomUUID()}` });
  if (set.status !== 202) throw new Error(`the request to set rules was answered ${set.status} ${set.text}`);
  return eventually(async () => {
    const { body: list } = await owner.send("GET", `${account}/breaches`);
    const [breach] = (list as { breaches: { id: string }[] }).breaches;
    if (breach === undefined) throw new Error("the account has no breach");
    return breach.id;
  });
}

/** Creates an account with the owner's key, and waits until its creation has succeeded. */
export async function newAccount(
  owner: Caller,
  serverId: string,
): Promise<Pick<Target, "accountNumber" | "commandId">> {
  const body = { accountName: "Contract", initialBalance: 10_000, leverage: 100, requestId: "setup" };
  const path = `/api/v1/management/servers/${serverId}/accounts`;
  const created = await eventually(async () => {
    const answer = await owner.send("POST", path, { body, idempotencyKey: `setup-${randomUUID()}` });
    if (answer.status !== 202) throw new Error(`the creation was answered ${answer.status} ${answer.text}`);
    return answer.body as { command: { id: string } };
  });
  const command = await finished(owner, created.command.id);
  if (command.status !== "succeeded") throw new Error(`the creation ended ${JSON.stringify(command)}`);
  return { accountNumber: String(command.result?.["accountNumber"]), commandId: created.command.id };
}

/** Creates a risk template that matches no account, with the owner's key. Returns its name. */
export async function newTemplate(owner: Caller, serverId: string): Promise<string> {
  const templateName = randomUUID();
  const path = `/api/v1/management/servers/${serverId}/risk-templates/${templateName}`;
  const answer = await owner.send("PUT", path, { body: validBody("template"), idempotencyKey: templateName });
  if (answer.status !== 202)
    throw new Error(`the request to set a template was answered ${answer.status} ${answer.text}`);
  const command = await finished(owner, (answer.body as { command: { id: string } }).command.id);
  if (command.status !== "succeeded") throw new Error(`the command to set a template ended ${JSON.stringify(command)}`);
  return templateName;
}

export interface FinishedCommand {
  readonly status: string;
  readonly errorCode: string | null;
  readonly result: Record<string, unknown> | null;
}

/** Returns a command of the owner when it is final, or as it is after 30 s. */
export async function finished(owner: Caller, commandId: string): Promise<FinishedCommand> {
  const answer = await owner.send("GET", `/api/v1/management/commands/${commandId}?wait=30`);
  return (answer.body as { command: FinishedCommand }).command;
}

/** Returns the path of an operation for a target. */
export function pathOf(operation: OperationRow, target: Target): string {
  return operation.path
    .replace("{serverId}", target.serverId)
    .replace("{accountNumber}", target.accountNumber)
    .replace("{templateName}", target.templateName)
    .replace("{commandId}", target.commandId)
    .replace("{breachId}", target.breachId)
    .replace("{now}", new Date().toISOString());
}

async function directoryOf(stack: TestStack): Promise<{ value: Producer; stop(): Promise<void> }> {
  const kafka = createKafka({
    brokers: stack.environment.kafkaBrokers.split(","),
    clientId: "contract-tests",
    topicPrefix: stack.environment.topicPrefix,
    logger: createLogger({ service: "contract-tests", level: "error" }),
  });
  return startProducer(kafka);
}

async function publish(directory: Producer, key: string, entry: object): Promise<void> {
  await directory.send(TOPICS.organizationDirectory, { key, value: JSON.stringify(entry) });
}

async function untilKnown(caller: Caller): Promise<void> {
  // Any status other than 401 shows that the key is known. These requests cost no credits.
  const path = `/api/v1/management/servers/${randomUUID()}/configuration`;
  await eventually(async () => (await caller.send("GET", path)).status !== 401, { timeoutMs: VISIBLE_MS });
}
