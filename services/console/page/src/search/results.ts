/** Results of the global search, in groups. Each result has the address of its page. */
import type { SearchResult, SearchSource } from "../api/shapes.ts";
import { moment, money } from "../format.ts";
import { part } from "../router.tsx";

/** One line of the list. */
export interface Hit {
  readonly to: string;
  readonly title: string;
  readonly detail: string;
}

/** Results below one title: of one kind, or the last opened results. */
export interface HitGroup {
  readonly title: string;
  readonly hits: readonly Hit[];
}

/** Names of the sources of the search, in lower case for the middle of a sentence. */
export const SOURCE_NAMES: Readonly<Record<SearchSource, string>> = {
  accounts: "accounts",
  commands: "commands",
  transactions: "transactions",
  requests: "requests",
  events: "webhook events",
  breaches: "breaches",
  keys: "keys",
};

const GROUPS: readonly (readonly [kind: SearchResult["kind"], title: string])[] = [
  ["account", "Accounts"],
  ["command", "Commands"],
  ["transaction", "Transactions"],
  ["request", "Requests"],
  ["event", "Webhook events"],
  ["breach", "Breaches"],
  ["key", "Keys"],
];

/** The results in groups; a group without results is left out. */
export function groupsOf(results: readonly SearchResult[]): HitGroup[] {
  return GROUPS.map(([kind, title]) => ({
    title,
    hits: results.filter((result) => result.kind === kind).map(hitOf),
  })).filter(({ hits }) => hits.length > 0);
}

function hitOf(result: SearchResult): Hit {
  switch (result.kind) {
    case "account": {
      const { accountNumber, accountName, status } = result;
      return { to: accountPath(result), title: accountNumber, detail: `${accountName} · ${status}` };
    }
    case "command": {
      const { serverId, commandId, operation, status, requestId, createdAt } = result;
      const to = `/commands/${part(serverId)}/${part(commandId)}`;
      const request = requestId === null ? "" : ` · request ${requestId}`;
      return { to, title: operation, detail: `${status} · ${moment(createdAt)}${request}` };
    }
    case "transaction": {
      const { serverId, commandId, type, amount, currency, accountNumber, recordedAt } = result;
      // The page of the transaction's command shows more than the page of the account.
      const to = commandId === null ? accountPath(result) : `/commands/${part(serverId)}/${part(commandId)}`;
      const title = `${type.replaceAll("_", " ")} ${money(amount, currency)}`;
      return { to, title, detail: `account ${accountNumber} · ${moment(recordedAt)}` };
    }
    case "request": {
      const { id, requestId, operation, status, at } = result;
      const detail = `${status ?? "disconnected"} · ${moment(at)} · ${requestId}`;
      return { to: `/requests/${part(id)}`, title: operation, detail };
    }
    case "event": {
      const { eventId, type, accountNumber, createdAt } = result;
      const detail = accountNumber === null ? moment(createdAt) : `account ${accountNumber} · ${moment(createdAt)}`;
      return { to: `/webhooks/events/${part(eventId)}`, title: type, detail };
    }
    case "breach": {
      const { accountNumber, breachId, ruleId, measuredAt } = result;
      const to = `${accountPath(result)}/breaches/${part(breachId)}`;
      return { to, title: `Rule ${ruleId}`, detail: `account ${accountNumber} · ${moment(measuredAt)}` };
    }
    case "key":
      return { to: "/keys", title: result.name, detail: `${result.keyId} · ${result.status}` };
  }
}

function accountPath({ serverId, accountNumber }: { readonly serverId: string; readonly accountNumber: string }) {
  return `/accounts/${part(serverId)}/${part(accountNumber)}`;
}
