import { TOPICS } from "@kapi/contracts";
import { createKafka, endOffsets } from "@kapi/kafka";
import { startPool, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";

import { compareWithPast } from "../risk/compare-with-past.ts";
import type { Case, CommandView } from "./case.ts";
import { pagesOf } from "./pages.ts";

const COMPARED_DEADLINE_MS = 120_000;
const ACTIONS_DEADLINE_MS = 120_000;
const POSITIONS = statement<{ number: number; next_offset: number }>(
  "test-clusters-positions",
  `select number, next_offset::float8 as next_offset from partitions`,
);

/** A breach, as the API shows it, and its organization. */
export interface BreachView {
  readonly id: string;
  readonly commandId: string | null;
  readonly organization: number;
}

/**
 * Every limit that the log of valuations reaches has exactly one breach, and no other limit has
 * one. Each breach with an action has one command, which was carried out. Risk rules have queued no
 * other command. Returns the breaches.
 */
export async function checkRisk(one: Case, accepted: ReadonlyMap<string, CommandView>): Promise<readonly BreachView[]> {
  const { stack, violations, say } = one;
  const { servers, topicPrefix } = stack;
  const logger = createLogger({ service: "oracle", level: "silent" });
  const kafka = createKafka({ brokers: servers.kafkaBrokers.split(","), clientId: "oracle", topicPrefix, logger });
  const pool = await startPool({
    connectionString: servers.postgresUrl,
    schema: "risk",
    applicationName: "oracle",
    logger,
  });
  const database = pool.value;
  try {
    const behind = await one.waits.until("risk to compare every valuation", COMPARED_DEADLINE_MS, async () => {
      const positions = new Map((await database.query(POSITIONS, [])).map((row) => [row.number, row.next_offset]));
      const ends = await endOffsets(kafka, TOPICS.tradingValuations);
      const left = [...ends].filter(([partition, end]) => (positions.get(partition) ?? 0) !== Number(end));
      return left.length === 0 ? null : `partitions ${left.map(([partition]) => partition).join(", ")} are behind`;
    });
    if (behind !== null) violations.add(`risk rules: ${behind}`);
    const breaches = await breachesOf(one);
    await checkActions(one, breaches, accepted);
    const { differences, ...figures } = await compareWithPast({ kafka, database, logger });
    say(`  ${JSON.stringify(figures)}`);
    for (const difference of differences) violations.add(`risk rules: ${difference}`);
    if (figures.breaches !== breaches.length) {
      violations.add(`risk rules: the API lists ${breaches.length} breaches, ${figures.breaches} are stored`);
    }
    return breaches;
  } finally {
    await pool.stop();
  }
}

async function breachesOf({ harness }: Case): Promise<BreachView[]> {
  const breaches: BreachView[] = [];
  for (const { organization, number } of harness.accounts.filter(({ ruled }) => ruled)) {
    const { api, serverId } = harness.organizations[organization] ?? {};
    if (api === undefined) continue;
    const path = `/servers/${serverId}/accounts/${number}/breaches`;
    for await (const breach of pagesOf<BreachView>(api, path, "breaches")) breaches.push({ ...breach, organization });
  }
  return breaches;
}

/**
 * The commands that kapi queued itself are exactly the commands of breaches, and were carried out.
 */
async function checkActions(
  { harness, violations, waits }: Case,
  breaches: readonly BreachView[],
  accepted: ReadonlyMap<string, CommandView>,
): Promise<void> {
  const wanted = new Set(breaches.flatMap(({ commandId }) => (commandId === null ? [] : [commandId])));
  const wrong = await waits.until("the commands of breaches to be carried out", ACTIONS_DEADLINE_MS, async () => {
    const found = new Map(accepted);
    for (const { api, serverId } of harness.organizations) {
      const path = `/servers/${serverId}/commands`;
      for await (const command of pagesOf<CommandView>(api, path, "commands")) found.set(command.id, command);
    }
    const own = [...found.values()].filter(({ createdBy }) => createdBy?.type === "system");
    const open = [...wanted].filter((id) => !isCarriedOut(found.get(id)));
    const extra = own.filter(({ id }) => !wanted.has(id));
    if (open.length === 0 && extra.length === 0) return null;
    return `${open.length} were not carried out (${open.slice(0, 3).join(", ")}), ${extra.length} belong to no breach`;
  });
  if (wrong !== null) violations.add(`commands of breaches: ${wrong}`);
}

/**
 * Whether the command put the account into its new state, or failed because the state was already
 * stricter: an account that another rule has disabled does not become close-only (decisions, 15.9).
 */
function isCarriedOut(command: CommandView | undefined): boolean {
  if (command?.status === "succeeded") return true;
  return command?.operation === "account.close_only" && command.errorCode === "INVALID_STATE_TRANSITION";
}
