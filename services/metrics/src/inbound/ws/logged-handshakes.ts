import type { IncomingMessage } from "node:http";

import type { RequestLog } from "@kapi/admission";
import type { KeyEntry } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";

import { LIVE_OPERATION } from "./handshake.ts";

/** The outcome of a handshake. */
export interface HandshakeOutcome {
  readonly status: number;
  readonly errorCode: string | null;
  readonly creditsCharged: number;
}

/** A handshake in the request log of its organization. */
export interface LoggedHandshake {
  /** Sets the key; handshakes without a known key are not logged. */
  keyKnown(key: KeyEntry): void;
  /** Writes the log entry, if the key is known. */
  end(outcome: HandshakeOutcome): void;
}

/** The dependencies of the log entries. */
export interface LoggedHandshakeDependencies {
  readonly requestLog: RequestLog;
  readonly clientAddress: (request: IncomingMessage) => string | null;
  readonly clock: Clock;
}

/**
 * Begins the log entry of a handshake. Reads the client's address at once, because the address is
 * unknown after the client has disconnected.
 */
export function beginLoggedHandshake(
  { requestLog, clientAddress, clock }: LoggedHandshakeDependencies,
  request: IncomingMessage,
  requestId: string,
): LoggedHandshake {
  const atMs = clock.nowMs();
  const startedMs = performance.now();
  const address = clientAddress(request);
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
