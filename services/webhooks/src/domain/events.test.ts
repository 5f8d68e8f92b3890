import { AccountEvent, CommandEvent, FinanceEvent, WebhookEvent, WEBHOOK_KINDS } from "@kapi/contracts";
import { describe, expect, it } from "vitest";

import { account, commandEvent, deal, order, position, transaction } from "../../test/event-messages.ts";
import { fromAccountEvent, fromCommandEvent, fromFinanceEvent, type IncomingEvent, payloadOf } from "./events.ts";

const wire = (event: IncomingEvent, sequence: number | null = 1): unknown => JSON.parse(payloadOf(event, sequence));

describe("the body sent to a receiver", () => {
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
  ])("of $type matches the contract exactly", (message) => {
    const sent = wire(fromAccountEvent(AccountEvent.parse(message)));
    expect(WebhookEvent.parse(sent)).toEqual(sent);
  });

  it("of a closed position contains the position, its deals and the number of open positions", () => {
    const message = position("position.closed");
    const { eventId, organizationId, serverId, accountNumber } = message;
    expect(wire(fromAccountEvent(AccountEvent.parse(message)), 7)).toEqual({
      type: "position.closed",
      timestamp: message.occurredAt,
      data: {
        eventId,
        organizationId,
        serverId,
        accountNumber,
        accountSequence: 7,
        ...message.position,
        dealIds: ["9001", "9002"],
        openPositionCount: 0,
      },
    });
  });

  it("of a transaction matches the contract exactly", () => {
    const sent = wire(fromFinanceEvent(FinanceEvent.parse(transaction())));
    expect(WebhookEvent.parse(sent)).toEqual(sent);
  });

  it("of a command exists for final states only and omits a large result", () => {
    expect(fromCommandEvent(CommandEvent.parse(commandEvent({ status: "leased" })))).toBeNull();
    for (const status of ["succeeded", "failed", "expired"] as const) {
      const event = fromCommandEvent(CommandEvent.parse(commandEvent({ status })));
      const sent = event === null ? null : wire(event, null);
      expect(WebhookEvent.parse(sent)).toEqual(sent);
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

  it("never contains a credential, even if the message does", () => {
    const secret = "hV7#kQ2mRz9!pLw4XnTb";
    const credentials = { tradingPassword: secret, investorPassword: secret };
    for (const kind of ["account.created", "account.password_changed"]) {
      const message = AccountEvent.parse({ ...account(kind), password: secret, credentials });
      expect(payloadOf(fromAccountEvent(message), 1)).not.toContain(secret);
    }
    const event = CommandEvent.parse({ ...commandEvent({}), password: secret, credentials });
    const sent = fromCommandEvent(event);
    expect(sent === null ? "" : payloadOf(sent, null)).not.toContain(secret);
  });
});
