/** Accounts by the distance from their limits of losses. */
import type { NearLimit } from "@kapi/contracts";
import { amountFromMinor, type Clock, toIso } from "@kapi/kernel";

import { type AccountState, distancesOf, type LimitDistance } from "../domain/evaluation.ts";
import type { LimitReader, NearLimitQuery, StateText } from "../domain/ports.ts";
import { type RuleSet, toRule } from "../domain/rule.ts";

/** The distances from the nearest limits of losses, in the form in which they are stored. */
export function limitsLeft(
  state: AccountState,
  rules: RuleSet,
): Pick<StateText, "dailyLeft" | "dailyUntil" | "lossLeft"> {
  const distances = distancesOf(state, rules);
  const daily = nearest(distances, "dailyLoss");
  const loss = nearest(distances, "maxLoss");
  return {
    dailyLeft: daily?.leftPercent ?? null,
    dailyUntil: daily === undefined || daily.untilMs === null ? null : toIso(daily.untilMs),
    lossLeft: loss?.leftPercent ?? null,
  };
}

/**
 * A page of the accounts that match the query, the one nearest its limit first, each with this
 * limit. Leaves out accounts without a limit that still applies. `total` counts the accounts of all
 * pages.
 */
export async function listNearLimits(
  { reader, clock }: { readonly reader: LimitReader; readonly clock: Clock },
  query: NearLimitQuery,
): Promise<{ limits: NearLimit[]; total: number }> {
  const [accounts, total] = await Promise.all([reader.near(query), reader.count(query)]);
  const limits = accounts.flatMap(({ serverId, accountNumber, version, rules, state }): NearLimit[] => {
    const set = { version, rules: rules.map(({ rule, since }) => toRule(rule, since)) };
    const applying = distancesOf(state, set).filter(({ untilMs }) => untilMs === null || untilMs > clock.nowMs());
    const distance = nearest(applying, query.type);
    const rule = rules.find((stored) => stored.rule.id === distance?.rule.id)?.rule;
    if (distance === undefined || rule === undefined || state.last === null) return [];
    return [
      {
        serverId,
        accountNumber,
        rule,
        value: amountFromMinor(distance.valueMinor),
        threshold: amountFromMinor(distance.thresholdMinor),
        leftPercent: distance.leftPercent,
        measuredAt: toIso(state.last.measuredAtMs),
      },
    ];
  });
  return { limits, total };
}

/** The nearest limit of `type`, or of any type of loss if `type` is null. */
function nearest(distances: readonly LimitDistance[], type: "dailyLoss" | "maxLoss" | null): LimitDistance | undefined {
  return distances
    .filter(({ rule }) => (type === null ? rule.type !== "profitTarget" : rule.type === type))
    .toSorted((a, b) => a.leftPercent - b.leftPercent)[0];
}
