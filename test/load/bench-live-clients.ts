/**
 * A process with many client sockets of `bench -- live`. It opens and reconnects the sockets, and
 * counts their samples.
 */
import { setTimeout } from "node:timers/promises";

import { BenchSocket, Seen, type SocketPlan } from "./bench-live-socket.ts";
import { serve } from "./bench-live-workers.ts";

/** Number of concurrent handshakes at the first opening of sockets. */
const OPENED_AT_ONCE = 100;
const RETRY_MS = 50;
const RECONNECT_DEADLINE_MS = 120_000;

/** The sockets of one or all client processes. */
export interface ClientPlan extends SocketPlan {
  readonly sockets: number;
  /**
   * Distance between the first accounts of two consecutive sockets; 0: all have the same accounts.
   */
  readonly accountStep: number;
}

/**
 * Figures of the sockets of one or all client processes. An entry of `latencies` has a latency in
 * milliseconds, and the number of samples with this latency.
 */
export interface ClientFigures extends Omit<Seen, "mark" | "latencies"> {
  readonly latencies: readonly (readonly [number, number])[];
}

/** Methods that the parent calls in a client process. */
export type ClientMethods = {
  /** Opens and subscribes sockets. For a bare loop the path ends with the socket's account. */
  open(plan: ClientPlan): Promise<void>;
  figures(_: null): ClientFigures;
  /** Sets `deliveries` and `latencies` to 0. Other counters continue. */
  mark(_: null): void;
  /**
   * Waits until the server has closed every socket. Then opens all sockets at once and subscribes
   * again. `afterSequence` of an account is its last received sequence minus `back`. Resolves when
   * every handshake was accepted. Returns the number of failed handshakes. Throws if a handshake
   * fails after {@link RECONNECT_DEADLINE_MS}.
   */
  reconnect(options: { readonly back: number }): Promise<number>;
  close(_: null): void;
};

let seen = new Seen();
let plans: SocketPlan[] = [];
let sockets: BenchSocket[] = [];

async function open(clientPlan: ClientPlan): Promise<void> {
  const { sockets: count, accountStep, ...plan } = clientPlan;
  plans = Array.from({ length: count }, (_, index) => {
    const firstAccount = plan.firstAccount + index * accountStep;
    return { ...plan, firstAccount, path: plan.subscribe === null ? `${plan.path}${firstAccount}` : plan.path };
  });
  seen = new Seen();
  sockets = plans.map((one) => new BenchSocket(one, seen));
  const rest = sockets.values();
  const openRest = async (): Promise<void> => {
    for (const socket of rest) {
      if (!(await socket.open())) throw new Error("a handshake was rejected");
      socket.subscribe(null);
    }
  };
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openRest));
}

async function reconnect({ back }: { back: number }): Promise<number> {
  const endMs = performance.now() + RECONNECT_DEADLINE_MS;
  while (sockets.some(({ isOpen }) => isOpen)) await setTimeout(RETRY_MS);
  let rejected = 0;
  await Promise.all(
    sockets.map(async (socket) => {
      while (!(await socket.open())) {
        rejected += 1;
        if (performance.now() > endMs) throw new Error(`handshakes were rejected for ${RECONNECT_DEADLINE_MS} ms`);
        await setTimeout(RETRY_MS);
      }
      socket.subscribe(back);
    }),
  );
  return rejected;
}

const methods: ClientMethods = {
  open,
  figures: () => {
    const { deliveries, total, gaps, announced, started, replayed, closed, errors } = seen;
    const latencies = [...seen.latencies.entries()].filter(([, count]) => count > 0);
    return { deliveries, total, gaps, announced, started, replayed, closed, errors, latencies };
  },
  mark: () => seen.mark(),
  reconnect,
  close: () => {
    for (const socket of sockets) socket.close();
    sockets = [];
  },
};
serve(methods);
