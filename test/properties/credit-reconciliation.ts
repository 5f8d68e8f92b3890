/** Reads wallets from Redis and PostgreSQL, and credit ledger entries, without the services. */
import { Redis } from "ioredis";
import pg from "pg";

/** The sums of a wallet, in credits. */
export interface Sums {
  readonly available: number;
  readonly reserved: number;
  readonly consumed: number;
  readonly purchased: number;
}

/** A line of the usage list, and the charge that caused the line. */
export interface Line {
  readonly chargeId: string;
  readonly kind: "consume" | "refund" | "reserve" | "settle";
  /** The `X-Request-Id` of the request, not the `requestId` of its body. */
  readonly requestId: string | null;
  readonly operation: string;
  readonly commandId: string | null;
  /** Negative for returned credits. */
  readonly credits: number;
}

/** The credits of an organization as each source reports them. */
export interface CreditTotals {
  readonly redis: Sums | null;
  /** The wallet that PostgreSQL stores. */
  readonly kept: Sums;
  /** The sums of the credit ledger entries. */
  readonly derived: Sums;
  /** The sum of the usage lines. */
  readonly linesSum: number;
  /** The sum of the usage days, which the console shows. */
  readonly daysSum: number;
}

/** Number of wallet shards. */
const TAGS = 64;
const usageKeys = Array.from({ length: TAGS }, (_, tag) => `{b${tag.toString().padStart(2, "0")}}:usage`);
const ENTRY = /^(consume|reserve|refund) (\d+) (\S+) (\S+) (\S+) (.*)$/s;

const SUMS = `select available, reserved, consumed, purchased from organization.wallets where organization_id = $1`;
const DERIVED = `
  with sums as (
    select coalesce(sum(credits) filter (where leg = 'purchase'), 0) as purchased,
      coalesce(sum(case leg when 'reserve' then credits when 'settle' then -credits end), 0) as reserved,
      coalesce(sum(case when leg = 'consume' or action = 'consume' then credits when leg = 'refund' then -credits end), 0)
        as consumed
    from organization.all_credit_entries where organization_id = $1)
  select purchased - reserved - consumed as available, reserved, consumed, purchased from sums`;
const DAYS = `select coalesce(sum(credits), 0) as credits from organization.usage_days where organization_id = $1`;
const LINES = `
  select charge_id, leg as kind, x_request_id, operation, command_id,
    case when leg in ('refund', 'settle') then -credits else credits end as credits
  from organization.all_credit_entries
  where organization_id = $1 and credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release')`;

/** A usage entry that was lost when Redis was emptied. */
export interface LostEntry {
  readonly kind: string;
  readonly chargeId: string;
  /** The `X-Request-Id` of the request. */
  readonly requestId: string;
}

/** Reads the credits of any organization from each source. */
export class CreditReconciliation {
  readonly #redis: Redis;
  readonly #database: pg.Client;

  private constructor(redis: Redis, database: pg.Client) {
    this.#redis = redis;
    this.#database = database;
  }

  static async open(servers: {
    readonly redisUrl: string;
    readonly postgresUrl: string;
  }): Promise<CreditReconciliation> {
    const database = new pg.Client({ connectionString: servers.postgresUrl });
    await database.connect();
    return new CreditReconciliation(new Redis(servers.redisUrl), database);
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
    await this.#database.end();
  }

  /** Returns the credits of the organization, from each source. */
  async of(organizationId: string): Promise<CreditTotals> {
    const [kept, derived, lines] = [
      await this.#sums(SUMS, organizationId),
      await this.#sums(DERIVED, organizationId),
      await this.lines(organizationId),
    ];
    const linesSum = lines.reduce((sum, { credits }) => sum + credits, 0);
    const { rows } = await this.#database.query<{ credits: string }>(DAYS, [organizationId]);
    const daysSum = Number(rows[0]?.credits);
    return { redis: await this.#wallet(organizationId), kept, derived, linesSum, daysSum };
  }

  /** Returns the usage lines of the organization, in no particular order. */
  async lines(organizationId: string): Promise<Line[]> {
    const { rows } = await this.#database.query<Record<string, string | null>>(LINES, [organizationId]);
    return rows.map((row) => ({
      chargeId: row["charge_id"] ?? "",
      kind: row["kind"] as Line["kind"],
      requestId: row["x_request_id"] ?? null,
      operation: row["operation"] ?? "",
      commandId: row["command_id"] ?? null,
      credits: Number(row["credits"]),
    }));
  }

  /** Number of usage entries not yet in the credit ledger, plus wallet changes not yet in Redis. */
  async underWay(): Promise<number> {
    const waiting = await Promise.all(usageKeys.map((key) => this.#redis.xlen(key)));
    const { rows } = await this.#database.query<{ count: string }>(
      "select count(*) from organization.pending_wallet_changes",
    );
    return waiting.reduce((sum, entries) => sum + entries, Number(rows[0]?.count ?? 0));
  }

  /** Empties Redis. Returns the usage entries that were lost, read in the same transaction. */
  async flushAll(): Promise<LostEntry[]> {
    const step = this.#redis.multi();
    for (const key of usageKeys) step.xrange(key, "-", "+");
    const replies = (await step.flushall().exec()) ?? [];
    return replies.slice(0, TAGS).flatMap(([, entries]) =>
      (entries as [string, string[]][]).map(([, fields]) => {
        const [, kind = "", , chargeId = "", , , requestId = ""] = ENTRY.exec(fields[1] ?? "") ?? [];
        return { kind, chargeId, requestId };
      }),
    );
  }

  async #wallet(organizationId: string): Promise<Sums | null> {
    const [key] = await this.#redis.keys(`*:wallet:${organizationId}`);
    if (key === undefined) return null;
    return sumsFrom(await this.#redis.hgetall(key));
  }

  async #sums(text: string, organizationId: string): Promise<Sums> {
    const { rows } = await this.#database.query<Record<string, string>>(text, [organizationId]);
    return sumsFrom(rows[0] ?? {});
  }
}

function sumsFrom(row: Readonly<Record<string, string>>): Sums {
  const of = (name: string): number => Number(row[name]);
  return { available: of("available"), reserved: of("reserved"), consumed: of("consumed"), purchased: of("purchased") };
}
