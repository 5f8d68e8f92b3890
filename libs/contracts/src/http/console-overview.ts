/** The console's first page: what needs attention, and the lists behind it. */
import { z } from "zod";

import { AccountNumber, Currency, Guid, queryInteger } from "../values.ts";
import { AccountStatus } from "./accounts.ts";
import { StoredAccountValues } from "./console-accounts.ts";
import { RiskBreach, RiskRule } from "./risk.ts";

/** A part of the overview. `unavailable`: the read of the part failed, or was too slow. */
function partOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.discriminatedUnion("status", [
    z.object({ status: z.literal("ok"), ...shape }),
    z.object({ status: z.literal("unavailable") }),
  ]);
}

/** A limit of an account, and how far the account is from it. */
export const NearLimit = z.object({
  serverId: z.guid(),
  accountNumber: z.string(),
  rule: RiskRule,
  /** The value that is compared, and the value at which the rule is breached. */
  value: z.number(),
  threshold: z.number(),
  /** The distance from `value` to `threshold`, in percent of the rule's limit. */
  leftPercent: z.number(),
  measuredAt: z.iso.datetime(),
});
export type NearLimit = z.infer<typeof NearLimit>;

/** The kinds of rules in the list of near limits: losses, no profit targets. */
export const LossRuleType = z.enum(["dailyLoss", "maxLoss"]);
export type LossRuleType = z.infer<typeof LossRuleType>;

/** Maximum number of rows in each list of accounts, limits or breaches of the overview. */
export const OVERVIEW_ROWS = 10;

/** Answer of GET /overview. Money in units of currency; days are UTC. */
export const ConsoleOverview = z.object({
  /** When kapi began to read the parts: up to some seconds before the answer. */
  readAt: z.iso.datetime(),
  /** False: the list of servers is unavailable, and so are all parts that need it. */
  isDirectoryAvailable: z.boolean(),
  /** Number of servers that are not in the parts: the overview has only the first 500. */
  serversLeftOut: z.int().min(0),
  servers: partOf({
    servers: z.array(
      z.object({
        serverId: z.guid(),
        serverName: z.string(),
        currency: Currency,
        /** Number of accounts by state. */
        accounts: z.partialRecord(AccountStatus, z.int().min(0)),
        /** Whether the trading server answers now. */
        answers: z.boolean(),
        /** When the trading server last answered, as far as kapi checked; null: unknown. */
        answeredAt: z.iso.datetime().nullable(),
      }),
    ),
  }),
  /** Sums over the accounts of all servers that are shown, by currency. */
  equity: partOf({
    sums: z.array(
      z.object({
        currency: Currency,
        accounts: z.int().min(0),
        equity: z.number(),
        /** Since the start of the day (UTC), with deposits and withdrawals. */
        change: z.number(),
        /** The newest stored minute; null: none. */
        measuredAt: z.iso.datetime().nullable(),
      }),
    ),
  }),
  /** The largest daily drawdowns. */
  drawdowns: partOf({
    accounts: z.array(z.object({ serverId: z.guid(), accountNumber: z.string(), stored: StoredAccountValues })),
  }),
  limits: partOf({ limits: z.array(NearLimit) }),
  /** Breaches of today, newest first. */
  breaches: partOf({ total: z.int().min(0), breaches: z.array(RiskBreach) }),
  /** Endpoints that fail now, or that kapi has disabled. */
  webhooks: partOf({
    endpoints: z.array(
      z.object({
        id: z.uuid(),
        url: z.string(),
        failingSince: z.iso.datetime().nullable(),
        disabledReason: z.string().nullable(),
      }),
    ),
  }),
  commands: partOf({
    servers: z.array(
      z.object({ serverId: z.guid(), waiting: z.int().min(1), oldestCreatedAt: z.iso.datetime().nullable() }),
    ),
  }),
  credits: partOf({
    available: z.int(),
    lowBalance: z.boolean(),
    /** Credits used in about the last 24 hours, minus refunds. */
    perDay: z.number(),
    /** Days until the credits are used up at this rate; null without use. */
    daysLeft: z.number().nullable(),
  }),
});
export type ConsoleOverview = z.infer<typeof ConsoleOverview>;

/** Where a page of near limits begins: after this account. */
const LIMIT_CURSOR = /^(-?[\d.e+-]{1,25})~([0-9a-f-]{36})~([A-Za-z0-9_-]{4,32})$/;
export const LimitCursor = z
  .string()
  .max(100)
  .regex(LIMIT_CURSOR, "must be nextCursor of an earlier page of this list")
  .transform((text) => {
    const [, leftPercent = "", serverId = "", accountNumber = ""] = LIMIT_CURSOR.exec(text) ?? [];
    return { leftPercent: Number(leftPercent), serverId, accountNumber };
  })
  .pipe(z.object({ leftPercent: z.number(), serverId: Guid, accountNumber: AccountNumber }));

const WithinPercent = z
  .string()
  .regex(/^\d{1,3}(\.\d{1,4})?$/, "must be percent of the limit, such as 1")
  .transform(Number)
  .pipe(z.number().max(100));
const MAX_LIMITS = 100;
const DEFAULT_LIMITS = 50;

/** Query of GET /near-limits. */
export const ListNearLimitsQuery = z.object({
  /** Absent: all servers of the organization. */
  serverId: Guid.optional(),
  type: LossRuleType.optional(),
  /** Only accounts whose limit is at most this far, in percent of the limit. */
  within: WithinPercent.optional(),
  limit: queryInteger(1, MAX_LIMITS).default(DEFAULT_LIMITS),
  cursor: LimitCursor.optional(),
});
export type ListNearLimitsQuery = z.infer<typeof ListNearLimitsQuery>;

/** Answer of GET /near-limits: the nearest limit of each account, nearest first. */
export const NearLimitsAnswer = z.object({
  limits: z.array(NearLimit),
  total: z.int().min(0),
  nextCursor: z.string().nullable(),
});
export type NearLimitsAnswer = z.infer<typeof NearLimitsAnswer>;

/** Where a page of breaches begins: after this breach. */
const BREACH_CURSOR = /^(.{1,40})~([0-9a-f-]{36})$/;
export const BreachCursor = z
  .string()
  .max(100)
  .regex(BREACH_CURSOR, "must be nextCursor of an earlier page of this list")
  .transform((text) => {
    const [, measuredAt = "", id = ""] = BREACH_CURSOR.exec(text) ?? [];
    return { measuredAt, id };
  })
  .pipe(z.object({ measuredAt: z.iso.datetime(), id: Guid }));

/** Query of GET /breaches: of all servers of the organization, or one. */
export const ListRecentBreachesQuery = z.object({
  serverId: Guid.optional(),
  from: z.iso.datetime({ offset: true }),
  limit: queryInteger(1, MAX_LIMITS).default(DEFAULT_LIMITS),
  cursor: BreachCursor.optional(),
});
export type ListRecentBreachesQuery = z.infer<typeof ListRecentBreachesQuery>;

/** Breaches since a time, newest first; `total` counts all of them. */
export const RecentBreaches = z.object({
  total: z.int().min(0),
  breaches: z.array(RiskBreach),
  /** The last breach of the page, with its exact time; null: no other page follows. */
  next: z.object({ measuredAt: z.iso.datetime(), id: Guid }).nullable().default(null),
});

/** Answer of GET /breaches. */
export const RecentBreachesAnswer = RecentBreaches.omit({ next: true }).extend({ nextCursor: z.string().nullable() });
export type RecentBreachesAnswer = z.infer<typeof RecentBreachesAnswer>;
