/** What is measured of the live connections. */
import { counter, observed } from "@kapi/runtime";

const handshakes = counter("metrics.live.handshakes", "Live handshakes that were answered, by `status`", "{handshake}");
const closes = counter(
  "metrics.live.closes",
  "Live sockets that were closed by this process, by `code`; 1006: given up, as no ping was answered",
  "{socket}",
);

/** What the open sockets are, and what waits in this process for their networks. */
export interface LiveLoad {
  readonly sockets: number;
  readonly subscriptions: number;
  /** Of the sockets, those that are sent nothing until their network has drained. */
  readonly stalled: number;
  readonly bufferedBytes: number;
  /** Of the socket for which the most waits. */
  readonly mostBufferedBytes: number;
}

/** Counts an answer to a handshake; `status` is 101 or that of the refusal. */
export function countHandshake(status: number): void {
  handshakes.add(1, { status });
}

/**
 * Counts a socket that is closed from here, with the close code of the interface; 1006 one that was
 * given up.
 */
export function countClose(code: number): void {
  closes.add(1, { code });
}

/** Lets the load be looked at; null: there are no live connections in this process. */
export function measureLiveLoad(load: () => LiveLoad | null): void {
  const told = (of: (load: LiveLoad) => number) => () => {
    const now = load();
    return now === null ? [] : [{ value: of(now) }];
  };
  observed(
    "metrics.live.sockets",
    "Open live sockets of this process",
    "{socket}",
    told(({ sockets }) => sockets),
  );
  observed(
    "metrics.live.sockets.stalled",
    "Live sockets that are sent nothing until their network has drained",
    "{socket}",
    told(({ stalled }) => stalled),
  );
  observed(
    "metrics.live.subscriptions",
    "Subscriptions of the open live sockets",
    "{subscription}",
    told(({ subscriptions }) => subscriptions),
  );
  observed(
    "metrics.live.buffered",
    "Bytes that wait in this process for the networks of its live sockets",
    "By",
    told(({ bufferedBytes }) => bufferedBytes),
  );
}
