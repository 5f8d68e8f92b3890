import { expect, it } from "vitest";

import { ServerError } from "../errors.ts";
import { Connection } from "./connection.ts";
import type { LiveSocket, SocketListener } from "./socket.ts";

const ABNORMAL_CLOSURE = 1006;
const SOCKET: LiveSocket = {
  send: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  close: () => undefined,
  terminate: () => undefined,
};

it.each(["<html>", "null", '{"error":{"message":"bad"},"code":502}'])(
  "the connection ends with a ServerError if a proxy answers the handshake with 502 and the body %s",
  async (body) => {
    const listeners: SocketListener[] = [];
    const connection = new Connection(
      (_url, _headers, listener) => {
        listeners.push(listener);
        return SOCKET;
      },
      "ws://test",
      "Management kapi.test",
      { onReady: () => undefined, onMessage: () => undefined },
    );
    for (const listener of listeners) {
      listener.onRejection({ status: 502, headers: {}, body });
      listener.onClose(ABNORMAL_CLOSURE);
    }
    const { error } = await connection.ended;
    expect(error).toBeInstanceOf(ServerError);
    const reason = "the handshake was answered with 502";
    expect(error).toMatchObject({ status: 502, code: "HTTP_502", reason, retryable: true });
  },
);
