/**
 * What the live stream allows and keeps unless the operator set another
 * (decisions, 10.2, 10.4 and 10.5). These are the numbers of the documents; the metrics service's
 * settings have the same as defaults, and a test of it compares.
 */
export const LIVE_LIMITS = {
  /** Open sockets of an organization. */
  socketsPerOrganization: 1_000,
  subscriptionsPerSocket: 2_000,
  messageBytes: 16 * 1_024,
  /** Above it a socket is read more slowly. */
  messagesPerSecond: 1_000,
  /** Samples of an account that can be replayed. */
  windowSamples: 300,
  /** Age of the oldest sample that can be replayed, but for the newest one, in seconds. */
  windowSeconds: 300,
  /** Least time between two samples of an account that only prices have moved, in milliseconds. */
  coalescingMs: 1_000,
  /** How often the server pings, in seconds. */
  pingIntervalSeconds: 20,
  /** Unanswered pings after which the server gives a connection up. */
  unansweredPings: 3,
  /** How long a socket may take nothing before it is closed, in seconds. */
  slowConsumerSeconds: 30,
  /** How soon a revoked key's sockets are closed, in seconds. */
  revocationSeconds: 2,
} as const;
