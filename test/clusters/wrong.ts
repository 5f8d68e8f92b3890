import { assertDefined } from "@kapi/kernel";
import { startPool, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import type { TestStack } from "@kapi/local/test-stack";

import type { OperationLog } from "./operation-log.ts";
import type { Settings } from "./settings.ts";
import type { ClusterHarness } from "./cluster-harness.ts";

const BREACH_TIMEOUT_MS = 300_000;
/**
 * Deletes a breach that was recorded more than a minute ago. By then, risk has stored a later
 * offset of the valuations, so no process finds the breach again.
 */
const DELETE_BREACH = statement<{ id: string }>(
  "test-delete-breach",
  `delete from alerts where id = (
     select id from alerts where kind = 'breached' and recorded_at < now() - interval '1 minute' limit 1
   ) returning id`,
);

/**
 * Makes one intended error in the operation log, in kapi, or in what the checks have received. The
 * violation that the run then reports shows that the checks work. An empty `kind` makes no error.
 */
export async function injectError(
  kind: Settings["wrong"],
  operationLog: OperationLog,
  harness: ClusterHarness,
  stack: TestStack,
): Promise<void> {
  const { receiver, checkers } = harness;
  const deposit = () =>
    assertDefined(
      operationLog.accepted.find((operation) => operation.kind === "deposit"),
      "an accepted deposit",
    );
  if (kind === "amount") deposit().amountMinor += 1;
  if (kind === "command") deposit().commandId = "00000000-0000-4000-8000-000000000000";
  if (kind === "breach") await deleteBreach(stack);
  if (kind === "delivery") {
    const { event: first } = assertDefined(receiver.received[0], "a delivery");
    const kept = receiver.received.filter(({ event }) => event.data.eventId !== first.data.eventId);
    receiver.received.splice(0, receiver.received.length, ...kept);
  }
  if (kind === "charge") operationLog.failedReads.add(assertDefined(operationLog.servedRead, "a served read"));
  if (kind === "live")
    await Promise.all(checkers.filter(({ organization }) => organization === 0).map((one) => one.stop()));
  if (kind === "ending") {
    stack.process("export").kill("SIGTERM");
    await stack.process("export").ended();
  }
}

async function deleteBreach({ servers }: TestStack): Promise<void> {
  const logger = createLogger({ service: "oracle", level: "silent" });
  const pool = await startPool({
    connectionString: servers.postgresUrl,
    schema: "risk",
    applicationName: "oracle",
    logger,
  });
  try {
    const deleted = async (): Promise<boolean> => (await pool.value.query(DELETE_BREACH, [])).length > 0;
    await eventually(deleted, { timeoutMs: BREACH_TIMEOUT_MS, intervalMs: 1_000 });
  } finally {
    await pool.stop();
  }
}
