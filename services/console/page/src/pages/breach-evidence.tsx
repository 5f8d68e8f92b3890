import { useEffect, useState } from "preact/hooks";

import type { LoadedEvidence } from "../api/console-api.ts";
import { useApi, useSession } from "../api/context.ts";
import type { BreachEvidence, EvidencePosition, RiskBreach } from "../api/shapes.ts";
import { EvidenceChart } from "../charts/evidence-chart.tsx";
import { credits as whole, money, zonedMoment } from "../format.ts";
import { Loaded, Notice } from "../parts/notice.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useData } from "../parts/use-data.ts";
import { Block, Copy, Detail, DetailList, ExactMoment, Nothing } from "../parts/values.tsx";
import { BreachFigures } from "./breach-figures.tsx";
import { missingInWords } from "./risk-words.ts";
import { shownPositions } from "./shown-positions.ts";

/** The signed evidence of a breach: chart, figures, positions, and the document itself. */
export function Evidence({ breach }: { readonly breach: RiskBreach }) {
  const api = useApi();
  const { serverId, accountNumber, id } = breach;
  const data = useData("evidence", (signal) => api.evidence(serverId, accountNumber, id, signal));
  return (
    <Loaded data={data} what="the evidence">
      {(loaded) => <Shown breach={breach} loaded={loaded} />}
    </Loaded>
  );
}

function Shown({ breach, loaded }: { readonly breach: RiskBreach; readonly loaded: LoadedEvidence }) {
  const { document } = loaded;
  return (
    <>
      {document.missing.length === 0 ? null : (
        <Notice kind="warning">
          This evidence is incomplete.
          <ul>
            {document.missing.map((one) => (
              <li key={JSON.stringify(one)}>{missingInWords(one)}</li>
            ))}
          </ul>
        </Notice>
      )}
      <section class="card">
        <h2>Values</h2>
        <div class="beside">
          <EvidenceChart document={document} />
          <BreachFigures breach={breach} currency={document.currency} evidence={document} />
        </div>
      </section>
      <section class="card">
        <h2>Open positions at the {timeOfPositions(document)}</h2>
        <Positions document={document} />
      </section>
      <section class="card">
        <h2>Signed document</h2>
        <DocumentDetails loaded={loaded} />
      </section>
    </>
  );
}

/**
 * The time of the positions in words: that of the breach if the account had open positions at the
 * breach, but none at the extreme value. Otherwise that of the extreme value.
 */
function timeOfPositions({ breach: { side, compared, at, extremeAt }, records, positions }: BreachEvidence): string {
  const extreme = records.findLast((record) => record.kind === "valuation" && record.measuredAt === extremeAt);
  const isAtBreach = extreme?.openPositionCount === 0 && positions !== null && positions.length > 0;
  if (isAtBreach) return `breach, ${zonedMoment(at)}`;
  return `${side === "atOrBelow" ? "lowest" : "highest"} ${compared}, ${zonedMoment(extremeAt)}`;
}

function Positions({ document: { positions, currency, breach } }: { readonly document: BreachEvidence }) {
  if (positions === null) return <p class="quiet">kapi could not get the open positions.</p>;
  if (positions.length === 0) return <p class="quiet">No position was open.</p>;
  const { shown, isValued } = shownPositions(positions, breach.side);
  const most = breach.side === "atOrBelow" ? "largest losses" : "largest profits";
  const those = isValued
    ? `The ${shown.length} of ${whole(positions.length)} positions with the ${most}.`
    : `The first ${shown.length} of ${whole(positions.length)} positions.`;
  return (
    <>
      <Table
        caption="Open positions"
        columns={isValued ? [...COLUMNS, profitColumn(currency)] : COLUMNS}
        rows={shown}
        keyOf={({ positionId }) => positionId}
      />
      {shown.length === positions.length ? null : <p class="quiet">{those} The document has all positions.</p>}
    </>
  );
}

const COLUMNS: readonly Column<EvidencePosition>[] = [
  { head: "Position", cell: ({ positionId }) => <code>{positionId}</code> },
  { head: "Symbol", cell: ({ symbol }) => symbol },
  { head: "Side", cell: ({ side }) => side },
  { head: "Volume", numeric: true, cell: ({ volume }) => volume },
  { head: "Open price", numeric: true, cell: ({ openPrice }) => openPrice },
  { head: "Price", numeric: true, cell: ({ price }) => price ?? <Nothing /> },
];

function profitColumn(currency: string): Column<EvidencePosition> {
  return {
    head: "Profit",
    numeric: true,
    cell: ({ profit }) => (profit === null ? <Nothing /> : money(profit, currency)),
  };
}

function DocumentDetails({ loaded: { document, bytes } }: { readonly loaded: LoadedEvidence }) {
  const { apiUrl } = useSession();
  const { breach, records, chain, signature, createdAt } = document;
  const file = `evidence-${breach.id}.json`;
  const command = `npx -p @kapi/client kapi verify-evidence ${file} --url ${apiUrl}`;
  const valuations = records.filter(({ kind }) => kind === "valuation").length;
  return (
    <>
      <DetailList>
        <Detail name="Signed">
          <ExactMoment at={createdAt} />
        </Detail>
        <Detail name="Key">
          <code>{signature.keyId}</code> ({signature.algorithm})
        </Detail>
        <Detail name="Records">
          {whole(valuations)} valuations, {whole(records.length - valuations)} live samples
        </Detail>
        <Detail name="Breach id">
          <code>{breach.id}</code>
        </Detail>
        <Detail name="Last hash (SHA-256)" wide>
          <code>{chain.lastHash}</code>
        </Detail>
      </DetailList>
      <p class="screen-only">
        <DownloadLink bytes={bytes} name={file} />
      </p>
      <p>Send the document to the trader. Anybody can verify it with this command, without a management key:</p>
      <Block text={command} label="Command that verifies the document" wraps />
      <div class="screen-only">
        <Copy text={command} what="the command" />
      </div>
    </>
  );
}

/** A link that saves the bytes as they came from the API. */
function DownloadLink({ bytes, name }: { readonly bytes: Blob; readonly name: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const created = URL.createObjectURL(bytes);
    setAddress(created);
    return () => URL.revokeObjectURL(created);
  }, [bytes]);
  return address === undefined ? null : (
    <a class="button" href={address} download={name}>
      Download the document
    </a>
  );
}
