import { useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import type { CreditUsage, Wallet } from "../api/shapes.ts";
import { UsageByDay } from "../charts/usage-by-day.tsx";
import { counted, credits } from "../format.ts";
import { Field } from "../parts/field.tsx";
import { Loaded, Notice, Problem } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Permitted } from "../parts/permitted.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { type Data, useAction, useData } from "../parts/use-data.ts";
import { Moment, Nothing } from "../parts/values.tsx";

const LINES_A_PAGE = 20;
/** Numbers of days from which a person chooses the span of the chart. */
const DAY_CHOICES = [7, 30, 90] as const;
const INITIAL_DAYS = 30;
/** The limit of the console's API (`LowBalanceThresholdBody` in `libs/contracts`). */
const HIGHEST_THRESHOLD = 1_000_000_000_000;

/** The wallet, the usage by day, and the usage lines. */
export function CreditsPage() {
  const api = useApi();
  const [shownDays, setShownDays] = useState<number>(INITIAL_DAYS);
  const [page, setPage] = useState(1);
  const wallet = useData("wallet", (signal) => api.wallet(signal));
  const byDay = useData(`by-day ${shownDays}`, (signal) => api.usageByDay(shownDays, signal));
  const lines = useData(`lines ${page}`, (signal) => api.usage(page, LINES_A_PAGE, signal));
  const refresh = (): void => [wallet, byDay, lines].forEach((data) => data.reload());
  return (
    <Page
      title="Credits"
      actions={
        <button type="button" onClick={refresh}>
          Refresh
        </button>
      }
    >
      <Loaded data={wallet} what="the balance">
        {(value) => <Balance wallet={value} set={wallet.set} />}
      </Loaded>
      <section class="card">
        <div class="section-head">
          <h2>Usage by day</h2>
          <DaysChoice days={shownDays} choose={setShownDays} />
        </div>
        <Loaded data={byDay} what="the usage by day">
          {({ days }) => <UsageByDay days={days} />}
        </Loaded>
      </section>
      <section class="card">
        <h2>Billed requests</h2>
        <Lines lines={lines} go={setPage} />
      </section>
    </Page>
  );
}

interface BalanceProps {
  readonly wallet: Wallet;
  readonly set: (wallet: Wallet) => void;
}

function Balance({ wallet, set }: BalanceProps) {
  const { availableCredits, reservedCredits, lifetimeConsumed, lifetimePurchased } = wallet;
  return (
    <section class="card" aria-label="Balance">
      {wallet.lowBalance ? (
        <Notice kind="warning">
          The balance is low: {counted(availableCredits, "credit is", "credits are")} left. The threshold is{" "}
          {credits(wallet.lowBalanceThreshold)}.
        </Notice>
      ) : null}
      <dl class="figures">
        <Figure name="Available" amount={availableCredits} note="ready to use" />
        <Figure name="Reserved" amount={reservedCredits} note="for commands in progress" />
        <Figure name="Consumed" amount={lifetimeConsumed} note="in total" />
        <Figure name="Purchased" amount={lifetimePurchased} note="available + reserved + consumed" />
      </dl>

      <Permitted to="credits:manage">
        <Threshold wallet={wallet} set={set} />
      </Permitted>
    </section>
  );
}

function Figure({ name, amount, note }: { readonly name: string; readonly amount: number; readonly note: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span class="number">{credits(amount)}</span>
        <span class="quiet">{note}</span>
      </dd>
    </div>
  );
}

function Threshold({ wallet, set }: BalanceProps) {
  const api = useApi();
  const [text, setText] = useState(String(wallet.lowBalanceThreshold));
  const [saved, setSaved] = useState(false);
  const save = useAction(async () => {
    setSaved(false);
    set(await api.setLowBalanceThreshold(Number(text)));
    setSaved(true);
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save.run();
  };
  return (
    <form class="inline threshold" onSubmit={submit}>
      <Field
        label="Low-balance threshold"
        hint="The balance is low when available credits are at or below this number."
        error={save.failure?.of("lowBalanceThreshold") ?? null}
      >
        {(tied) => (
          <input
            {...tied}
            type="number"
            class="number"
            min={0}
            max={HIGHEST_THRESHOLD}
            step={1}
            required
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        )}
      </Field>
      <button type="submit" disabled={save.busy}>
        {save.busy ? "Saving…" : "Save"}
      </button>
      <span role="status" class="quiet">
        {saved ? "Saved" : ""}
      </span>
      <Problem failure={save.failure} fields={["lowBalanceThreshold"]} />
    </form>
  );
}

function DaysChoice({ days: chosen, choose }: { readonly days: number; readonly choose: (days: number) => void }) {
  return (
    <div class="choice" role="group" aria-label="Days shown">
      {DAY_CHOICES.map((days) => (
        <button key={days} type="button" aria-pressed={days === chosen} onClick={() => choose(days)}>
          {days} days
        </button>
      ))}
    </div>
  );
}

type UsageLines = Data<Awaited<ReturnType<ReturnType<typeof useApi>["usage"]>>>;

function Lines({ lines, go }: { readonly lines: UsageLines; readonly go: (page: number) => void }) {
  return (
    <Loaded data={lines} what="the billed requests">
      {({ usage, pagination }) =>
        pagination.total === 0 ? (
          <p class="quiet">No billed requests yet. Each API request that costs credits appears here.</p>
        ) : (
          <>
            <Table caption="Billed requests, newest first" columns={LINES} rows={usage} keyOf={keyOfLine} />
            <Pager pagination={pagination} what={["line", "lines"]} go={go} />
          </>
        )
      }
    </Loaded>
  );
}

const LINES: readonly Column<CreditUsage>[] = [
  { head: "Time", cell: ({ at }) => <Moment at={at} /> },
  { head: "Operation", cell: ({ operation }) => operation },
  { head: "Request id", cell: ({ xRequestId }) => (xRequestId === null ? <Nothing /> : <code>{xRequestId}</code>) },
  { head: "Command", cell: ({ commandId }) => (commandId === null ? <Nothing /> : <code>{commandId}</code>) },
  { head: "Credits", numeric: true, cell: (line) => credits(line.credits) },
];

// A line has no id. A bulk request has several lines with the same request, operation and time, but
// with different commands.
function keyOfLine(line: CreditUsage): string {
  return [line.at, line.xRequestId, line.operation, line.commandId, line.credits].join(" ");
}
