import { ProduceError } from "@kapi/kafka";
import { commandMessage } from "@kapi/testkit";
import { expect, it } from "vitest";

import { NotPublished } from "../../domain/ports.ts";
import { createCommandLog } from "./command-log.ts";

it("a failed publication says whether the message is certainly not in the log, or may be in the log", async () => {
  const message = commandMessage();
  const publish = (outcome: ProduceError["outcome"]): Promise<void> => {
    const send = (): Promise<never> => Promise.reject(new ProduceError(outcome, "no broker"));
    return createCommandLog({ send }).publish(message, JSON.stringify(message));
  };
  await expect(publish("not-sent")).rejects.toBeInstanceOf(NotPublished);
  await expect(publish("unknown")).rejects.toMatchObject({
    code: "DEPENDENCY_UNAVAILABLE",
    headers: { "retry-after": "1" },
  });
});
