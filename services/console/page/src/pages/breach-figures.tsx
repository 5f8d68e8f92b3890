import type { ComponentChildren } from "preact";

import type { BreachEvidence, RiskBreach } from "../api/shapes.ts";
import { exactPercent, money, zonedMoment } from "../format.ts";
import { Detail, DetailList } from "../parts/values.tsx";
import { difference, exactShare } from "./exact-share.ts";

interface FiguresProps {
  readonly breach: RiskBreach;
  readonly currency: string | null;
  readonly evidence?: BreachEvidence;
}

/**
 * The compared value, the threshold, the reference (the value from which the rule counts the loss
 * or profit), and the loss or profit. With evidence also the most extreme value, and the first live
 * sample that includes the breach.
 */
export function BreachFigures({ breach, currency, evidence }: FiguresProps) {
  const { rule, value, threshold, reference } = breach;
  const isProfit = rule.type === "profitTarget";
  const compared = isProfit && rule.basis === "balance" ? "Balance" : "Equity";
  const moved = isProfit ? difference(value, reference) : difference(reference, value);
  const shown = (amount: number | string): string => money(amount, currency);
  // A limit in percent is a share of this value. Only evidence has the value.
  const base = evidence?.breach.reference.base ?? "0";
  const share = exactShare(moved, base);
  return (
    <DetailList>
      <Figure name={`${compared} at the breach`} value={shown(value)} />
      <Figure name="Threshold" value={`at or ${isProfit ? "above" : "below"} ${shown(threshold)}`} />
      <Figure name="Reference" value={shown(reference)}>
        {evidence === undefined ? null : zonedMoment(evidence.breach.reference.at)}
      </Figure>
      <Figure name={isProfit ? "Profit at the breach" : "Loss at the breach"} value={shown(moved)}>
        {share === null ? null : `${exactPercent(share)} of ${shown(base)}`}
      </Figure>
      {evidence === undefined ? null : <Extreme {...{ evidence, isProfit }} />}
    </DetailList>
  );
}

function Extreme({ evidence, isProfit }: { readonly evidence: BreachEvidence; readonly isProfit: boolean }) {
  const { breach, currency } = evidence;
  const { extremeValue, extremeAt, sequence, compared } = breach;
  return (
    <>
      <Figure name={`${isProfit ? "Highest" : "Lowest"} ${compared}`} value={money(extremeValue, currency)}>
        {zonedMoment(extremeAt)}
      </Figure>
      <Figure name="Live sample" value={sequence === null ? "none" : `sequence ${sequence}`}>
        {sequence === null
          ? "the document has no sample that includes the breach"
          : "the first sample that includes the breach"}
      </Figure>
    </>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  /** A remark below the value, such as its time. */
  readonly children?: ComponentChildren;
}

function Figure({ name, value, children }: FigureProps) {
  return (
    <Detail name={name}>
      <span class="number">{value}</span>
      {children === undefined || children === null ? null : <span class="under">{children}</span>}
    </Detail>
  );
}
