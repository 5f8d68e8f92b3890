import { AccountFact, CommandEvent, FinanceFact, WebhookEvent, WEBHOOK_KINDS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { account, commandEvent, deal, order, position, transaction } from "../../test/facts.ts";
import { fromAccountFact, fromCommandEvent, fromFinanceFact, type IncomingEvent, payloadOf } from "./facts.ts";

const wire = (event: IncomingEvent, sequence: number | null = 1): unknown => JSON.parse(payloadOf(event, sequence));

describe("what a receiver is told", () => {
  it.each([
    ...["created", "updated", "enabled", "disabled", "archived", "deleted", "password_changed"].map((kind) =>
      account(`account.${kind}`),
    ),
    order("order.executed"),
    order("order.cancelled"),
    position("position.opened"),
    position("position.updated"),
    position("position.closed"),
    deal(),
  ])("of $type is what the contract says, field for field", (fact) => {
    const told = wire(fromAccountFact(AccountFact.parse(fact)));
    expect(WebhookEvent.parse(told)).toEqual(told);
  });

  it("of a closed position are the position, its deals and how many are open still", () => {
    const fact = position("position.closed");
    const { eventId, organizationId, serverId, accountNumber } = fact;
    expect(wire(fromAccountFact(AccountFact.parse(fact)), 7)).toEqual({
      type: "position.closed",
      timestamp: fact.occurredAt,
      data: {
        eventId,
        organizationId,
        serverId,
        accountNumber,
        accountSequence: 7,
        ...fact.position,
        dealIds: ["9001", "9002"],
        openPositionCount: 0,
      },
    });
  });

  it("of a transaction is its row", () => {
    const told = wire(fromFinanceFact(FinanceFact.parse(transaction())));
    expect(WebhookEvent.parse(told)).toEqual(told);
  });

  it("of a command is its end alone, without a large result", () => {
    expect(fromCommandEvent(CommandEvent.parse(commandEvent({ status: "leased" })))).toBeNull();
    for (const status of ["succeeded", "failed", "expired"] as const) {
      const event = fromCommandEvent(CommandEvent.parse(commandEvent({ status })));
      const told = event === null ? null : wire(event, null);
      expect(WebhookEvent.parse(told)).toEqual(told);
      expect(WEBHOOK_KINDS).toContain(`command.${status}`);
    }
    const createdBy = { type: "key", id: "mfrggzdfmztwq2lk" };
    expect(fromCommandEvent(CommandEvent.parse({ ...commandEvent({}), createdBy }))?.record).toMatchObject({
      createdBy,
    });
    expect(fromCommandEvent(CommandEvent.parse(commandEvent({})))?.record).toMatchObject({ createdBy: null });
    const large = fromCommandEvent(CommandEvent.parse(commandEvent({ result: { records: ["x".repeat(20_000)] } })));
    expect(large?.record).toMatchObject({ result: null, resultOmitted: true });
  });

  it("is never a credential, should a fact ever carry one", () => {
    const secret = "hV7#kQ2mRz9!pLw4XnTb";
    const credentials = { tradingPassword: secret, investorPassword: secret };
    for (const kind of ["account.created", "account.password_changed"]) {
      const fact = AccountFact.parse({ ...account(kind), password: secret, credentials });
      expect(payloadOf(fromAccountFact(fact), 1)).not.toContain(secret);
    }
    const event = CommandEvent.parse({ ...commandEvent({}), password: secret, credentials });
    const told = fromCommandEvent(event);
    expect(told === null ? "" : payloadOf(told, null)).not.toContain(secret);
  });
});
