import { useState } from "preact/hooks";

import type { EquityPoint } from "../api/shapes.ts";
import { type Column, Table } from "../parts/table.tsx";
import { Moment, Money } from "../parts/values.tsx";

interface EquityTableProps {
  /** Oldest first. */
  readonly points: readonly EquityPoint[];
  /** The range in words: "last hour". */
  readonly words: string;
  readonly currency: string;
}

/** The stored points of the chart, newest first. The table is rendered only while it is shown. */
export function EquityTable({ points, words, currency }: EquityTableProps) {
  const [isOpen, setOpen] = useState(false);
  if (points.length === 0) return null;
  const caption = `Stored equity of the ${words}`;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Show as table</summary>
      {isOpen ? (
        <Table caption={caption} columns={columnsOf(currency)} rows={points.toReversed()} keyOf={keyOf} />
      ) : null}
    </details>
  );
}

function keyOf({ startsAt }: EquityPoint): string {
  return startsAt;
}

function columnsOf(currency: string): readonly Column<EquityPoint>[] {
  const amount = (head: string, of: (point: EquityPoint) => number): Column<EquityPoint> => ({
    head,
    numeric: true,
    cell: (point) => <Money amount={of(point)} currency={currency} />,
  });
  return [
    { head: "Until", cell: ({ endsAt }) => <Moment at={endsAt} /> },
    amount("Equity", ({ equity }) => equity),
    amount("Lowest", ({ lowest }) => lowest),
    amount("Highest", ({ highest }) => highest),
    amount("Drawdown", ({ drawdown: { from, to } }) => from - to),
    amount("Balance", ({ balance }) => balance),
  ];
}
