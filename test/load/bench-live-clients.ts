/** A process full of clients of `bench -- live`, which it opens, counts and brings back. */
import { setTimeout } from "node:timers/promises";

import { BenchSocket, Seen, type SocketPlan } from "./bench-live-socket.ts";
import { serve } from "./bench-live-workers.ts";

/** Handshakes of this process at once while sockets are first opened. */
const OPENED_AT_ONCE = 100;
const RETRY_MS = 50;
const COME_BACK_DEADLINE_MS = 120_000;

export interface ClientOrder extends SocketPlan {
  readonly sockets: number;
  /** From a socket's first account to that of the next; 0: all have the same accounts. */
  readonly accountStep: number;
}

/** What the clients of one process have seen; latencies as pairs of milliseconds and how many. */
export interface ClientFigures extends Omit<Seen, "mark" | "latencies"> {
  readonly latencies: readonly (readonly [number, number])[];
}

/** Commands of a process full of clients. */
export type ClientMethods = {
  /** Opens sockets and subscribes; a bare loop's path ends with the first account of the socket. */
  open(order: ClientOrder): Promise<void>;
  figures(_: null): ClientFigures;
  /** Counts from here on. */
  mark(_: null): void;
  /**
   * Waits until every socket is closed, then opens all at once and subscribes from `back` sequences
   * before the last one. Resolves when every handshake was accepted, with how often one was not.
   */
  comeBack(order: { readonly back: number }): Promise<number>;
  close(_: null): void;
};

let seen = new Seen();
let plans: SocketPlan[] = [];
let sockets: BenchSocket[] = [];

async function open(order: ClientOrder): Promise<void> {
  const { sockets: count, accountStep, ...plan } = order;
  plans = Array.from({ length: count }, (_, index) => {
    const firstAccount = plan.firstAccount + index * accountStep;
    return { ...plan, firstAccount, path: plan.subscribe === null ? `${plan.path}${firstAccount}` : plan.path };
  });
  seen = new Seen();
  sockets = plans.map((one) => new BenchSocket(one, seen));
  const rest = sockets.values();
  const openRest = async (): Promise<void> => {
    for (const socket of rest) {
      if (!(await socket.open())) throw new Error("a handshake was refused");
      socket.subscribe(null);
    }
  };
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openRest));
}

async function comeBack({ back }: { back: number }): Promise<number> {
  const endMs = performance.now() + COME_BACK_DEADLINE_MS;
  while (sockets.some(({ isOpen }) => isOpen)) await setTimeout(RETRY_MS);
  let refused = 0;
  await Promise.all(
    sockets.map(async (socket) => {
      while (!(await socket.open())) {
        refused += 1;
        if (performance.now() > endMs) throw new Error(`handshakes were refused for ${COME_BACK_DEADLINE_MS} ms`);
        await setTimeout(RETRY_MS);
      }
      socket.subscribe(back);
    }),
  );
  return refused;
}

const methods: ClientMethods = {
  open,
  figures: () => {
    const { deliveries, total, gaps, announced, started, replayed, closed, errors } = seen;
    const latencies = [...seen.latencies.entries()].filter(([, count]) => count > 0);
    return { deliveries, total, gaps, announced, started, replayed, closed, errors, latencies };
  },
  mark: () => seen.mark(),
  comeBack,
  close: () => {
    for (const socket of sockets) socket.close();
    sockets = [];
  },
};
serve(methods);
