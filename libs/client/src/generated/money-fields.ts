/**
 * Generated from the OpenAPI document of the API by `npm run openapi`. Do not edit.
 */

/** Names of fields that are amounts of money wherever they occur. */
export const MONEY_FIELDS: ReadonlySet<string> = new Set([
  "amount",
  "balance",
  "balanceAfter",
  "balanceBefore",
  "closingBalance",
  "commission",
  "equity",
  "extremeValue",
  "freeMargin",
  "initialBalance",
  "lockAt",
  "realizedPnl",
  "reference",
  "startValue",
  "swap",
  "threshold",
  "unrealizedProfit",
  "usedMargin",
  "value",
]);
