import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";

const HEADER_BYTES = 12;
/** Type and class after the name in a question. */
const QUESTION_END_BYTES = 4;
/** Length prefix of a message over TCP. */
const LENGTH_BYTES = 2;
const TYPE_A = 1;
const FLAGS = { answered: 0x8180, truncated: 0x8380, failing: 0x8182, unknown: 0x8183 } as const;
/** A record of type A for the name of the question, with a TTL of a minute; the address follows. */
const RECORD = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4]);

/** The answer for a known name. */
interface KnownName {
  readonly address: string;
  readonly afterMs?: number;
  /** Whether IPv6 questions get no answer at all, instead of an answer without an address. */
  readonly silentAboutIpv6?: true;
  /** Whether the UDP answer is truncated, so that the client asks over TCP. */
  readonly truncated?: true;
}

/** How the name server handles a name. */
export type NameAnswer = KnownName | "unknown" | "failing" | "silent";

/** A real name server on this machine with IPv4 addresses only. */
export class NameServer {
  /** Names of the received IPv4 questions, in order. */
  readonly asked: string[] = [];
  readonly #socket: DatagramSocket;
  readonly #server: Server;
  readonly #answer: (name: string) => NameAnswer;

  private constructor(socket: DatagramSocket, server: Server, answer: (name: string) => NameAnswer) {
    this.#socket = socket;
    this.#server = server;
    this.#answer = answer;
    socket.on("message", (query, { address, port }) => {
      this.#take(query, "udp", (reply) => socket.send(reply, port, address));
    });
    server.on("connection", (connection) => this.#serve(connection));
  }

  static async start(answer: (name: string) => NameAnswer): Promise<NameServer> {
    const socket = createSocket("udp4");
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    await new Promise<void>((resolve) => socket.bind(port, "127.0.0.1", resolve));
    return new NameServer(socket, server, answer);
  }

  /** The address in the format of `dns.setServers`. */
  get address(): string {
    const { address, port } = this.#socket.address();
    return `${address}:${port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    await new Promise<void>((resolve) => this.#socket.close(resolve));
  }

  #serve(connection: Socket): void {
    let received = Buffer.alloc(0);
    connection.on("error", () => undefined);
    connection.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= LENGTH_BYTES && received.length >= LENGTH_BYTES + received.readUInt16BE(0)) {
        const end = LENGTH_BYTES + received.readUInt16BE(0);
        const query = received.subarray(LENGTH_BYTES, end);
        received = received.subarray(end);
        this.#take(query, "tcp", (reply) => {
          const length = Buffer.alloc(LENGTH_BYTES);
          length.writeUInt16BE(reply.length);
          connection.write(Buffer.concat([length, reply]));
        });
      }
    });
  }

  #take(query: Buffer, over: "udp" | "tcp", send: (reply: Buffer) => void): void {
    const { name, end } = nameIn(query);
    const isA = query.readUInt16BE(end) === TYPE_A;
    if (isA) this.asked.push(name);
    const answer = this.#answer(name);
    if (answer === "silent") return;
    const known = typeof answer === "string" ? null : answer;
    if (!isA && known?.silentAboutIpv6 === true) return;
    const isTruncated = isA && over === "udp" && known?.truncated === true;
    const found = isA && !isTruncated ? known : null;
    const flags = typeof answer === "string" ? FLAGS[answer] : FLAGS[isTruncated ? "truncated" : "answered"];
    const reply = Buffer.from(query.subarray(0, end + QUESTION_END_BYTES));
    reply.writeUInt16BE(flags, 2);
    for (const [index, count] of [1, found === null ? 0 : 1, 0, 0].entries()) reply.writeUInt16BE(count, 4 + 2 * index);
    const record = found === null ? [] : [RECORD, Buffer.from(found.address.split(".").map(Number))];
    setTimeout(() => send(Buffer.concat([reply, ...record])), known?.afterMs ?? 0);
  }
}

function nameIn(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}
