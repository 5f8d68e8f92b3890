import { WebhookEvent, type WebhookKind } from "../http/webhooks.ts";

type Shape = (typeof WebhookEvent.options)[number];

/** The schema of events of a kind. */
function shapeOf(kind: WebhookKind): Shape {
  const found = WebhookEvent.options.find((option) => option.shape.type.safeParse(kind).success);
  if (found === undefined) throw new Error(`WebhookEvent has no schema for events of the kind ${kind}`);
  return found;
}

/** The schemas of events, by name in the OpenAPI document. Several kinds may share a schema. */
export const EVENTS: Readonly<Record<string, Shape>> = {
  AccountEvent: shapeOf("account.created"),
  PasswordChangedEvent: shapeOf("account.password_changed"),
  OrderEvent: shapeOf("order.executed"),
  PositionEvent: shapeOf("position.opened"),
  PositionClosedEvent: shapeOf("position.closed"),
  DealEvent: shapeOf("deal.executed"),
  TransactionEvent: shapeOf("transaction.recorded"),
  MarginEvent: shapeOf("margin.call"),
  RiskEvent: shapeOf("risk.breached"),
  EvidenceEvent: shapeOf("risk.evidence_stored"),
  LowBalanceEvent: shapeOf("credits.low_balance"),
  TestEvent: shapeOf("webhook.test"),
  CommandEvent: shapeOf("command.succeeded"),
};
