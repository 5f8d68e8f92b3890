import { accountKey, type AnyCommandMessage, COMMANDS } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { ProduceError, type Producer } from "@kapi/kafka";
import { assertDefined } from "@kapi/kernel";
import { activeTraceparent } from "@kapi/runtime";

import { type CommandLog, NotPublished } from "../../domain/ports.ts";

/**
 * The command topics in Kafka. Messages of one turn of the event loop share one produce request to
 * each broker.
 */
export function createCommandLog(producer: Pick<Producer, "send">): CommandLog {
  return {
    publish: async (message, value) => {
      try {
        await producer.send(COMMANDS[message.operation].topic, {
          key: recordKeyOf(message),
          value,
          traceparent: activeTraceparent(),
        });
      } catch (error) {
        if (!(error instanceof ProduceError)) throw error;
        throw error.outcome === "not-sent" ? new NotPublished(error.message, { cause: error }) : unavailable(error);
      }
    },
  };
}

function unavailable(cause: ProduceError): ApiError {
  return new ApiError("DEPENDENCY_UNAVAILABLE", { headers: { "retry-after": "1" }, cause });
}

/**
 * The record key: the account. A creation has no account number yet, so its key is the managed
 * account id. The key of a command on a risk template is the server (architecture, 2).
 */
export function recordKeyOf(message: AnyCommandMessage): string {
  if (message.accountNumber !== null) return accountKey(message.serverId, message.accountNumber);
  if (message.operation !== "account.create") return message.serverId;
  return assertDefined(message.managedAccountId, "the account of a creation");
}
