import type { IncomingMessage } from "node:http";

import type { RequestLog } from "@kapi/admission";
import type { KeyEntry } from "@kapi/contracts";
import { addressOf } from "@kapi/http";
import type { Clock } from "@kapi/kernel";

import { LIVE_OPERATION } from "./handshake.ts";

/** The outcome of a handshake. */
export interface HandshakeOutcome {
  readonly status: number;
  readonly errorCode: string | null;
  readonly creditsCharged: number;
}

/** The log entry of one handshake. */
export interface LoggedHandshake {
  /** Sets the key; handshakes without a known key are not logged. */
  keyKnown(key: KeyEntry): void;
  end(outcome: HandshakeOutcome): void;
}

/** Begins the log entry of a handshake. The address is unknown once the caller has disconnected. */
export function beginLoggedHandshake(
  { requestLog, clock }: { readonly requestLog: RequestLog; readonly clock: Clock },
  request: IncomingMessage,
  requestId: string,
): LoggedHandshake {
  const atMs = clock.nowMs();
  const startedMs = performance.now();
  const address = addressOf({ ip: request.socket.remoteAddress ?? "" });
  let known: KeyEntry | null = null;
  return {
    keyKnown: (key) => {
      known = key;
    },
    end: (outcome) => {
      if (known === null) return;
      const { organizationId, keyId } = known;
      requestLog.add({
        organizationId,
        atMs,
        requestId,
        operation: LIVE_OPERATION,
        method: "GET",
        serverId: null,
        accountNumber: null,
        durationMs: Math.round(performance.now() - startedMs),
        actor: { type: "key", id: keyId },
        address,
        commandId: null,
        ...outcome,
      });
    },
  };
}
