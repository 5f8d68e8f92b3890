/** One breach and its evidence, for a person who explains it to the trader. */
import { useApi } from "../api/context.ts";
import { Failure } from "../api/failure.ts";
import type { RiskBreach } from "../api/shapes.ts";
import { longDay, zonedClock } from "../format.ts";
import { Loaded, Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { useData, useReloadWhile } from "../parts/use-data.ts";
import { Detail, DetailList, ExactMoment, State } from "../parts/values.tsx";
import { Link, part } from "../router.tsx";
import { BreachAction } from "./account/breach-action.tsx";
import { Evidence } from "./breach-evidence.tsx";
import { BreachFigures } from "./breach-figures.tsx";
import { ruleInWords } from "./risk-words.ts";

/** Interval at which a breach is loaded again while its evidence is pending. */
const RELOAD_INTERVAL_MS = 3_000;
/** Evidence is usually complete this long after the breach. */
const USUALLY_COMPLETE_MS = 90_000;
/** Evidence that is still pending this long after the breach is late. */
const LATE_MS = 150_000;
const NOT_FOUND = 404;

interface BreachProps {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly breachId: string;
}

/** A breach, and the currency of its account; the currency is null for a deleted account. */
interface LoadedBreach {
  readonly breach: RiskBreach;
  readonly currency: string | null;
  /** When the breach was loaded, by the browser's clock. */
  readonly loadedAtMs: number;
}

/** One breach: the rule, the values, and the evidence once it is complete. */
export function BreachPage({ serverId, accountNumber, breachId }: BreachProps) {
  const api = useApi();
  const data = useData("breach", async (signal): Promise<LoadedBreach> => {
    const [breach, currency] = await Promise.all([
      api.breach(serverId, accountNumber, breachId, signal).catch(explainUnknown),
      api.account(serverId, accountNumber, signal).then((account) => account.currency, nullIfDeleted),
    ]);
    return { breach, currency, loadedAtMs: Date.now() };
  });
  useReloadWhile(data.value?.breach.evidence.status === "pending", data, RELOAD_INTERVAL_MS);
  return (
    <Page
      title={`Breach of account ${accountNumber}`}
      actions={
        <button type="button" onClick={() => print()}>
          Print or save as PDF
        </button>
      }
    >
      <p class="screen-only">
        <Link to={`/accounts/${part(serverId)}/${part(accountNumber)}`}>Account {accountNumber}</Link> ·{" "}
        <Link to={`/accounts/${part(serverId)}/${part(accountNumber)}?tab=breaches`}>Its breaches</Link>
      </p>
      <Loaded data={data} what="the breach">
        {(loaded) => <Shown {...loaded} />}
      </Loaded>
    </Page>
  );
}

function explainUnknown(error: unknown): never {
  if (!(error instanceof Failure) || error.status !== NOT_FOUND) throw error;
  throw new Failure("This account has no such breach. The page of the account lists its breaches.", NOT_FOUND);
}

function nullIfDeleted(error: unknown): null {
  if (error instanceof Failure && error.status === NOT_FOUND) return null;
  throw error;
}

function Shown({ breach, currency, loadedAtMs }: LoadedBreach) {
  const { rule, measuredAt, period, evidence } = breach;
  return (
    <>
      <section class="card">
        <h2>{ruleInWords(rule, currency)}</h2>
        <DetailList>
          <Detail name="Breached">
            <ExactMoment at={measuredAt} />
          </Detail>
          <Detail name="Action">
            <BreachAction breach={breach} />
          </Detail>
          <Detail name="Rule">
            <code>{rule.id}</code>, version {breach.ruleVersion}
            {rule.type === "dailyLoss" ? `, on ${longDay(period)}` : ""}
          </Detail>
          {evidence.status === "stored" ? null : (
            <Detail name="Evidence">
              <State of={evidence.status} />
            </Detail>
          )}
        </DetailList>
      </section>
      {evidence.status === "stored" ? (
        <Evidence breach={breach} />
      ) : (
        <section class="card">
          <h2>Values</h2>
          {evidence.status === "pending" ? <Pending {...{ measuredAt, loadedAtMs }} /> : <None />}
          <BreachFigures breach={breach} currency={currency} />
        </section>
      )}
    </>
  );
}

function Pending({ measuredAt, loadedAtMs }: { readonly measuredAt: string; readonly loadedAtMs: number }) {
  const breachedMs = Date.parse(measuredAt);
  return (
    <Notice kind="warning">
      {loadedAtMs > breachedMs + LATE_MS
        ? "The evidence is late. kapi waits for live samples, positions or prices. It stores the evidence without them 4 minutes after it recorded the breach. "
        : `The evidence includes the minute after the breach. It will be complete at about ${zonedClock(breachedMs + USUALLY_COMPLETE_MS)}. `}
      This page then shows it without a reload.
    </Notice>
  );
}

function None() {
  return (
    <Notice kind="warning">
      There is no evidence of this breach. It was deleted after 400 days, or kapi could not collect it, or an earlier
      version of kapi recorded the breach. If the breach is less than 24 hours old, get the signed samples around it
      with getIntervalEvidence of the API. Otherwise compare the values below with your own copy of the live stream.
    </Notice>
  );
}
