/**
 * Default limits of the live stream (decisions, 10.2, 10.4 and 10.5), for the AsyncAPI document. A
 * test of the metrics service compares them with its settings and constants.
 */
export const LIVE_LIMITS = {
  /** Open sockets of an organization on one process. */
  socketsPerOrganization: 1_000,
  subscriptionsPerSocket: 2_000,
  messageBytes: 16 * 1_024,
  /** Above this rate the server reads a socket more slowly. */
  messagesPerSecond: 1_000,
  /** Samples of an account that can be replayed. */
  windowSamples: 300,
  /** Maximum age of a replayed sample, in seconds. The newest sample has no maximum age. */
  windowSeconds: 300,
  /** Minimum time between two samples if only prices have moved, in milliseconds. */
  coalescingMs: 1_000,
  /** Interval between pings of the server, in seconds. */
  pingIntervalSeconds: 20,
  /** Number of unanswered pings after which the server closes a connection. */
  unansweredPings: 3,
  /** Time for which a client may read nothing before its socket is closed, in seconds. */
  slowConsumerSeconds: 30,
  /** Maximum time until sockets of a revoked key are closed, in seconds. */
  revocationSeconds: 2,
} as const;
