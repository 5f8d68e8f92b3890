import { WebhookEvent, type WebhookKind } from "../http/webhooks.ts";

type Shape = (typeof WebhookEvent.options)[number];

/** The shape that checks events of a kind. */
function shapeOf(kind: WebhookKind): Shape {
  const found = WebhookEvent.options.find((option) => option.shape.type.safeParse(kind).success);
  if (found === undefined) throw new Error(`${kind} has no shape`);
  return found;
}

/** What receivers are sent, by its name in the document: a shape for the kinds that share one. */
export const EVENTS: Readonly<Record<string, Shape>> = {
  AccountEvent: shapeOf("account.created"),
  PasswordChangedEvent: shapeOf("account.password_changed"),
  OrderEvent: shapeOf("order.executed"),
  PositionEvent: shapeOf("position.opened"),
  PositionClosedEvent: shapeOf("position.closed"),
  DealEvent: shapeOf("deal.executed"),
  TransactionEvent: shapeOf("transaction.recorded"),
  MarginEvent: shapeOf("margin.call"),
  LowBalanceEvent: shapeOf("credits.low_balance"),
  TestEvent: shapeOf("webhook.test"),
  CommandEvent: shapeOf("command.succeeded"),
};
