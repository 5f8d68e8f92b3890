import type { Account } from "./operation-log.ts";
import type { Case, TransactionView } from "./case.ts";
import type { BreachView } from "./check-risk.ts";
import type { Organization } from "./cluster-harness.ts";

/**
 * Long enough for the first attempt and the retry after 5 s. The next retry comes 5 minutes later.
 * The receiver rejects no delivery.
 */
const DELIVERY_DEADLINE_MS = 90_000;
const FEED_DEADLINE_MS = 60_000;
const LIMIT = 1_000;
const MAX_EXAMPLES = 3;

interface EventView {
  readonly id: string;
  readonly type: string;
  readonly data: {
    readonly accountNumber: string | null;
    readonly accountSequence: number | null;
    readonly sequence?: number;
    readonly id?: string;
  };
}

/**
 * The feed has an event for each transaction and each breach, and no event twice. Events of an
 * account are numbered without a gap, in the order of its transactions. Each event was delivered at
 * least once.
 */
export async function checkEvents(
  one: Case,
  transactions: ReadonlyMap<Account, readonly TransactionView[]>,
  breaches: readonly BreachView[],
): Promise<void> {
  const { harness, violations, waits } = one;
  const checks = harness.organizations.map(async (organization, index) => {
    const own = [...transactions].filter(([account]) => account.organization === index).flatMap(([, rows]) => rows);
    const ownBreaches = breaches.filter((breach) => breach.organization === index);
    let events: EventView[] = [];
    const missing = await waits.until(`the feed of organization ${index}`, FEED_DEADLINE_MS, async () => {
      events = await feedOf(organization);
      return withoutEvent(events, "transaction.recorded", own) ?? withoutEvent(events, "risk.breached", ownBreaches);
    });
    if (missing !== null) violations.add(`organization ${index}: ${missing}`);
    for (const wrong of [...repeated(events), ...misnumbered(events)])
      violations.add(`organization ${index}: ${wrong}`);
    const undelivered = (): EventView[] => {
      const arrived = harness.receiver.received.filter(({ path }) => path === organization.hook);
      const ids = new Set(arrived.map(({ event }) => event.data.eventId));
      return events.filter(({ id }) => !ids.has(id));
    };
    const late = await waits.until(`deliveries of organization ${index}`, DELIVERY_DEADLINE_MS, () => {
      const left = undelivered();
      if (left.length === 0) return null;
      return `${left.length} events were not delivered, such as ${left
        .slice(0, MAX_EXAMPLES)
        .map(({ id, type }) => `${type} ${id}`)
        .join(", ")}`;
    });
    if (late !== null) violations.add(`organization ${index}: ${late}`);
  });
  await Promise.all(checks);
}

async function feedOf({ api }: Organization): Promise<EventView[]> {
  const events: EventView[] = [];
  for (let after = ""; ;) {
    const page = await api.get<{ events: EventView[]; next: string }>(`/events?limit=${LIMIT}${after}`);
    if (page.events.length === 0) return events;
    events.push(...page.events);
    after = `&after=${encodeURIComponent(page.next)}`;
  }
}

/** The number of records without an event of this type, as a text; null if there are none. */
function withoutEvent(
  events: readonly EventView[],
  eventType: string,
  records: readonly { readonly id: string }[],
): string | null {
  const announced = new Set(events.filter(({ type }) => type === eventType).map(({ data }) => data.id));
  const missing = records.filter(({ id }) => !announced.has(id));
  return missing.length === 0 ? null : `${missing.length} ${eventType} are not in the feed, such as ${missing[0]?.id}`;
}

function repeated(events: readonly EventView[]): string[] {
  const byId = Map.groupBy(events, ({ id }) => id);
  const twice = [...byId.values()].filter(({ length }) => length > 1);
  if (twice.length === 0) return [];
  return [`${twice.length} events are in the feed more than once, such as ${twice[0]?.[0]?.type} ${twice[0]?.[0]?.id}`];
}

/** `accountSequence` runs from 1 without a gap, in the order of the account's transactions. */
function misnumbered(events: readonly EventView[]): string[] {
  const numbered = events.filter(({ data }) => data.accountNumber !== null && data.accountSequence !== null);
  const wrong: string[] = [];
  for (const [account, own] of Map.groupBy(numbered, ({ data }) => data.accountNumber)) {
    const inOrder = own.toSorted((a, b) => (a.data.accountSequence ?? 0) - (b.data.accountSequence ?? 0));
    const gap = inOrder.findIndex(({ data }, index) => data.accountSequence !== index + 1);
    if (gap >= 0)
      wrong.push(`account ${account}: event ${gap + 1} has accountSequence ${inOrder[gap]?.data.accountSequence}`);
    const rows = inOrder.filter(({ type }) => type === "transaction.recorded").map(({ data }) => data.sequence ?? 0);
    const overtaken = rows.filter((sequence, index) => index > 0 && sequence < (rows[index - 1] ?? 0));
    if (overtaken.length > 0) {
      wrong.push(
        `account ${account}: ${overtaken.length} events contradict the ledger's order, such as transaction ${overtaken[0]}`,
      );
    }
  }
  return wrong;
}
