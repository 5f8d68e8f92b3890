/** Spans for usage entries of traced requests: each shows how a charge reaches the ledger. */
import type { UsageEntry } from "@kapi/admission/redis";
import { ATTRIBUTE, isTracing, MESSAGING, type Span, startSpan, type Traceparent } from "@kapi/runtime";

const STREAM = "usage";

/** Runs `work`, which records `entries`, with the spans of the traced entries. */
export async function traceUsage<T>(
  entries: readonly UsageEntry[],
  work: (members: readonly Traceparent[]) => Promise<T>,
): Promise<T> {
  if (!isTracing()) return work([]);
  const spans = entries.map(startUsageSpan).filter((span) => span !== null);
  try {
    const result = await work(spans.map(({ traceparent }) => traceparent));
    for (const span of spans) span.end();
    return result;
  } catch (error) {
    for (const span of spans) span.end(error);
    throw error;
  }
}

function startUsageSpan({ traceparent, operation, requestId }: UsageEntry): Span | null {
  if (traceparent === undefined) return null;
  const attributes = {
    [ATTRIBUTE.messagingSystem]: MESSAGING.streams,
    [ATTRIBUTE.messagingOperationName]: MESSAGING.process,
    [ATTRIBUTE.messagingOperationType]: MESSAGING.process,
    [ATTRIBUTE.messagingDestination]: STREAM,
    [ATTRIBUTE.operation]: operation,
    [ATTRIBUTE.requestId]: requestId,
  };
  return startSpan(`${MESSAGING.process} ${STREAM}`, { role: "consumer", parent: traceparent, attributes });
}
