/** The numbers of the overview: totals, and what needs attention. */
import type { ConsoleOverview } from "../api/shapes.ts";
import { counted, credits as whole } from "../format.ts";
import { Ago, Detail, DetailList, Money, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { BREACHES_OF_UTC_DAY } from "./breaches.tsx";
import { Unavailable } from "./overview-part.tsx";

type Ok<Name extends keyof ConsoleOverview> = Extract<ConsoleOverview[Name], { status: "ok" }>;
type Servers = Ok<"servers">["servers"];

interface NumbersProps {
  readonly overview: ConsoleOverview;
}

/** Equity and its change by currency, accounts by state, and credits. */
export function Totals({ overview: { equity, servers, credits } }: NumbersProps) {
  return (
    <section class="card">
      <h2>Now</h2>
      <DetailList>
        <Detail name="Equity, and its change today" wide>
          {equity.status === "unavailable" ? <Unavailable /> : <Equity sums={equity.sums} />}
        </Detail>
        <Detail name="Accounts by state" wide>
          {servers.status === "unavailable" ? <Unavailable /> : <AccountStates servers={servers.servers} />}
        </Detail>
        <Detail name="Credits left" wide>
          {credits.status === "unavailable" ? <Unavailable /> : <CreditsLeft credits={credits} />}
        </Detail>
      </DetailList>
      <p class="quiet">The change of the equity includes deposits and withdrawals.</p>
    </section>
  );
}

function Equity({ sums }: { readonly sums: Ok<"equity">["sums"] }) {
  const stored = sums.filter(({ accounts }) => accounts > 0);
  if (stored.length === 0) return <span class="quiet">none stored yet</span>;
  return (
    <>
      {stored.map(({ currency, equity, change, accounts, measuredAt }) => (
        <div key={currency}>
          <Link to="/accounts?sort=-dayChange">
            <Money amount={equity} currency={currency} />
          </Link>{" "}
          <Money amount={change} currency={currency} change />
          <span class="under">
            {whole(accounts)} {accounts === 1 ? "account" : "accounts"} <Ago at={measuredAt} />
          </span>
        </div>
      ))}
    </>
  );
}

/** With at most this many servers, each is shown; otherwise the sums of all servers. */
const MAX_SERVER_ROWS = 10;

function AccountStates({ servers }: { readonly servers: Servers }) {
  if (servers.length > MAX_SERVER_ROWS) return <SumOfStates servers={servers} />;
  return (
    <>
      {servers.map(({ serverId, serverName, accounts }) => (
        <div key={serverId}>
          {servers.length > 1 ? `${serverName}: ` : null}
          {Object.keys(accounts).length === 0 ? "no accounts" : null}
          {Object.entries(accounts).map(([state, count]) => (
            <Link key={state} to={`/accounts?server=${part(serverId)}&status=${part(state)}`} class="count">
              {whole(count)} <State of={state} />
            </Link>
          ))}
        </div>
      ))}
    </>
  );
}

/** The sums are no links: a list of accounts shows one server. */
function SumOfStates({ servers }: { readonly servers: Servers }) {
  const sums = new Map<string, number>();
  for (const { accounts } of servers) {
    for (const [state, count] of Object.entries(accounts)) sums.set(state, (sums.get(state) ?? 0) + count);
  }
  return (
    <>
      {sums.size === 0 ? "no accounts" : null}
      {[...sums].map(([state, count]) => (
        <span key={state} class="count">
          {whole(count)} <State of={state} />
        </span>
      ))}
      <span class="under">
        on <Link to="/servers">{whole(servers.length)} servers</Link>
      </span>
    </>
  );
}

function CreditsLeft({ credits: { available, daysLeft, perDay } }: { readonly credits: Ok<"credits"> }) {
  return (
    <>
      <Link to="/credits">{whole(available)}</Link>
      <span class="under">
        {daysLeft === null
          ? "none used in the last 24 hours"
          : `${counted(Math.round(daysLeft), "day", "days")} at ${whole(perDay)} a day, the rate of the last 24 hours`}
      </span>
    </>
  );
}

/** Numbers that should be zero: silent servers, waiting commands, failing webhooks, breaches. */
export function Attention({ overview: { servers, commands, webhooks, breaches } }: NumbersProps) {
  const names = new Map(
    servers.status === "ok" ? servers.servers.map(({ serverId, serverName }) => [serverId, serverName]) : [],
  );
  return (
    <section class="card">
      <h2>Needs attention</h2>
      <DetailList>
        <Detail name="Servers that do not answer">
          {servers.status === "unavailable" ? <Unavailable /> : <SilentServers servers={servers.servers} />}
        </Detail>
        <Detail name="Commands that wait">
          {commands.status === "unavailable" ? (
            <Unavailable />
          ) : (
            <WaitingCommands servers={commands.servers} names={names} />
          )}
        </Detail>
        <Detail name="Failing webhooks">
          {webhooks.status === "unavailable" ? <Unavailable /> : <FailingWebhooks endpoints={webhooks.endpoints} />}
        </Detail>
        <Detail name="Breaches today">
          {breaches.status === "unavailable" ? (
            <Unavailable />
          ) : (
            <Link to={BREACHES_OF_UTC_DAY}>{whole(breaches.total)}</Link>
          )}
        </Detail>
      </DetailList>
    </section>
  );
}

function SilentServers({ servers }: { readonly servers: Servers }) {
  const silent = servers.filter(({ answers }) => !answers);
  if (silent.length === 0) return <Link to="/servers">0</Link>;
  return (
    <>
      {silent.map(({ serverId, serverName, answeredAt }) => (
        <div key={serverId}>
          <Link to="/servers">{serverName}</Link>
          {answeredAt === null ? null : (
            <span class="under">
              last answer <Ago at={answeredAt} />
            </span>
          )}
        </div>
      ))}
    </>
  );
}

interface WaitingProps {
  readonly servers: Ok<"commands">["servers"];
  readonly names: ReadonlyMap<string, string>;
}

function WaitingCommands({ servers, names }: WaitingProps) {
  if (servers.length === 0) return <Link to="/commands">0</Link>;
  return (
    <>
      {servers.map(({ serverId, waiting, oldestCreatedAt }) => (
        <div key={serverId}>
          <Link to={`/commands?server=${part(serverId)}&status=queued`}>
            {whole(waiting)} on {names.get(serverId) ?? serverId}
          </Link>
          <span class="under">
            the oldest <Ago at={oldestCreatedAt} />
          </span>
        </div>
      ))}
    </>
  );
}

function FailingWebhooks({ endpoints }: { readonly endpoints: Ok<"webhooks">["endpoints"] }) {
  if (endpoints.length === 0) return <Link to="/webhooks">0</Link>;
  return (
    <>
      {endpoints.map(({ id, url, failingSince, disabledReason }) => (
        <div key={id}>
          <Link to={`/webhooks/${part(id)}`}>{url}</Link>
          <span class="under">
            {disabledReason === null ? "failing since " : "disabled, failing since "}
            <Ago at={failingSince} />
          </span>
        </div>
      ))}
    </>
  );
}
