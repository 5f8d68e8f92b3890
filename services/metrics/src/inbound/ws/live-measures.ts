/** Metrics of live connections. */
import { counter, observed } from "@kapi/runtime";

const handshakes = counter("metrics.live.handshakes", "Live handshakes that were answered, by `status`", "{handshake}");
const closes = counter(
  "metrics.live.closes",
  "Live sockets that this process closed, by `code`; 1006: terminated after unanswered pings",
  "{socket}",
);

/** The open sockets of this process and their unsent bytes. */
export interface LiveLoad {
  readonly sockets: number;
  readonly subscriptions: number;
  /** Sockets that get no samples until their buffer has drained. */
  readonly stalled: number;
  readonly bufferedBytes: number;
  /** Unsent bytes of the socket that has the most unsent bytes. */
  readonly mostBufferedBytes: number;
}

/** Counts an answered handshake; `status` is 101 or the status of the error. */
export function countHandshake(status: number): void {
  handshakes.add(1, { status });
}

/** Counts a socket that this process closes, by close code; 1006 if pings were not answered. */
export function countClose(code: number): void {
  closes.add(1, { code });
}

/** Registers the metrics of the load; `load` returns null if this process serves no sockets. */
export function measureLiveLoad(load: () => LiveLoad | null): void {
  const gaugeOf = (of: (load: LiveLoad) => number) => () => {
    const now = load();
    return now === null ? [] : [{ value: of(now) }];
  };
  observed(
    "metrics.live.sockets",
    "Open live sockets of this process",
    "{socket}",
    gaugeOf(({ sockets }) => sockets),
  );
  observed(
    "metrics.live.sockets.stalled",
    "Live sockets that get no samples until their unsent bytes have drained",
    "{socket}",
    gaugeOf(({ stalled }) => stalled),
  );
  observed(
    "metrics.live.subscriptions",
    "Subscriptions of the open live sockets",
    "{subscription}",
    gaugeOf(({ subscriptions }) => subscriptions),
  );
  observed(
    "metrics.live.buffered",
    "Unsent bytes of this process's live sockets",
    "By",
    gaugeOf(({ bufferedBytes }) => bufferedBytes),
  );
}
