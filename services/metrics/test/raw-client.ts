import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

import { LIVE_METRICS_PATH } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";

const FINAL = 0x80;
const MASKED = 0x80;
const LENGTH_IN_16_BITS = 126;
const HEADER_END = "\r\n\r\n";
const WAIT_MS = 20_000;

/** The opcodes of frames (RFC 6455, 5.2). */
export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** The options of a frame; default: an unfragmented, masked text frame. */
export interface FrameParts {
  readonly opcode?: number;
  readonly final?: boolean;
  readonly masked?: boolean;
  /** The reserved bits, which only an extension may set. */
  readonly reserved?: number;
}

/**
 * Encodes a client's frame (RFC 6455, 5.2), also a frame that violates the protocol. The mask is
 * zero, so that the payload stays readable.
 */
export function clientFrame(payload: string | Buffer, parts: FrameParts = {}): Buffer {
  const { opcode = OPCODES.text, final = true, masked = true, reserved = 0 } = parts;
  const data = Buffer.from(payload);
  const first = (final ? FINAL : 0) | reserved | opcode;
  const mask = masked ? MASKED : 0;
  const short = data.length < LENGTH_IN_16_BITS;
  const header = Buffer.from(short ? [first, mask | data.length] : [first, mask | LENGTH_IN_16_BITS, 0, 0]);
  if (!short) header.writeUInt16BE(data.length, 2);
  return Buffer.concat([header, Buffer.alloc(masked ? 4 : 0), data]);
}

/** The response to a handshake. */
export interface HandshakeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of a response that is not an upgrade: parsed JSON, or text. */
  readonly body: unknown;
}

/** The parts of a handshake; null omits a header. */
export interface HandshakeParts {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | null>>;
  /** Sent in the same write, after the request. */
  readonly behind?: Buffer;
}

/**
 * A TCP connection that sends any bytes, and decodes the frames of a WebSocket server.
 */
export class RawClient {
  readonly socket: Socket;
  /** The received texts, in order. */
  readonly texts: string[] = [];
  /** The payloads of the received pong frames, in order. */
  readonly pongs: string[] = [];
  closeCode: number | null = null;
  #answer: HandshakeAnswer | null = null;
  #ended = false;
  #unread = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      this.#unread = Buffer.concat([this.#unread, bytes]);
      this.#read();
    });
    socket.on("close", () => {
      this.#ended = true;
      this.#read();
    });
  }

  /**
   * Connects and sends a handshake; returns the client and the response, also if it is an error.
   */
  static async handshake(
    wsUrl: string,
    managementKey: string | null,
    parts: HandshakeParts = {},
  ): Promise<{ client: RawClient; answer: HandshakeAnswer }> {
    const { hostname, port, host } = new URL(wsUrl);
    const headers = {
      host,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": randomBytes(16).toString("base64"),
      authorization: managementKey === null ? null : `Management ${managementKey}`,
      ...parts.headers,
    };
    const lines = Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
    const head = [`${parts.method ?? "GET"} ${parts.path ?? LIVE_METRICS_PATH} HTTP/1.1`, ...lines].join("\r\n");
    const client = new RawClient(connect({ host: hostname, port: Number(port) }));
    client.socket.write(Buffer.concat([Buffer.from(head + HEADER_END), parts.behind ?? Buffer.alloc(0)]));
    const answer = await eventually(() => client.#answer ?? false, { timeoutMs: WAIT_MS });
    return { client, answer };
  }

  /** Opens a connection and waits for `connected`. */
  static async open(wsUrl: string, managementKey: string): Promise<RawClient> {
    const { client, answer } = await RawClient.handshake(wsUrl, managementKey);
    if (answer.status !== 101) throw new Error(`the handshake was answered ${answer.status}`);
    await client.until(() => client.texts.length === 1);
    return client;
  }

  /** Sends all frames in one write. */
  send(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** Waits up to 20 s until `what` returns true. */
  async until(what: () => boolean): Promise<void> {
    await eventually(what, { timeoutMs: WAIT_MS });
  }

  /**
   * Waits for the end of the connection. Resolves with the code of the server's close frame, or
   * null without such a frame.
   */
  async closed(): Promise<number | null> {
    await this.until(() => this.#ended);
    return this.closeCode;
  }

  /** Ends the connection without a close frame. */
  close(): void {
    this.socket.destroy();
  }

  #read(): void {
    if (this.#answer === null) this.#readAnswer();
    if (this.#answer?.status === 101) while (this.#readFrame());
  }

  #readAnswer(): void {
    const end = this.#unread.indexOf(HEADER_END);
    if (end === -1) return;
    const [first = "", ...lines] = this.#unread.subarray(0, end).toString().split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const status = Number(first.split(" ")[1]);
    const rest = this.#unread.subarray(end + HEADER_END.length);
    const length = Number(headers["content-length"] ?? 0);
    if (status !== 101 && rest.length < length) return;
    this.#unread = rest;
    const text = rest.subarray(0, status === 101 ? 0 : length).toString();
    const isJson = headers["content-type"]?.startsWith("application/json") === true;
    this.#answer = { status, headers, body: isJson ? (JSON.parse(text) as unknown) : text };
  }

  /**
   * Removes one frame from the received bytes; returns false if they have no whole frame. The
   * server's frames are unmasked and shorter than 64 KiB.
   */
  #readFrame(): boolean {
    const [first = 0, short = 0] = this.#unread;
    const at = short === LENGTH_IN_16_BITS ? 4 : 2;
    if (this.#unread.length < at) return false;
    const length = at === 4 ? this.#unread.readUInt16BE(2) : short;
    if (this.#unread.length < at + length) return false;
    const payload = this.#unread.subarray(at, at + length);
    this.#unread = this.#unread.subarray(at + length);
    const opcode = first & 0x0f;
    if (opcode === OPCODES.text) this.texts.push(payload.toString());
    else if (opcode === OPCODES.pong) this.pongs.push(payload.toString());
    else if (opcode === OPCODES.close) {
      this.closeCode = length < 2 ? 1005 : payload.readUInt16BE(0);
      this.socket.end(clientFrame(payload, { opcode: OPCODES.close }));
    }
    return true;
  }
}
