import { createSocket, type Socket } from "node:dgram";

const HEADER_BYTES = 12;
/** Type and class behind the name that is asked for. */
const QUESTION_END_BYTES = 4;
const TYPE_A = 1;
const ANSWERED = 0x8180;
const NO_SUCH_NAME = 0x8183;
/** One record of type A for the name of the question, for a minute; the address follows. */
const RECORD = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4]);

/** What a name server does when it is asked for a name. */
export type NameAnswer = { readonly address: string; readonly afterMs?: number } | "unknown" | "silent";

/** A real name server over UDP, on this machine: it tells IPv4 addresses, or says nothing at all. */
export class NameServer {
  /** The names that it was asked for an IPv4 address of, in order. */
  readonly asked: string[] = [];
  readonly #socket: Socket;
  readonly #answer: (name: string) => NameAnswer;

  private constructor(socket: Socket, answer: (name: string) => NameAnswer) {
    this.#socket = socket;
    this.#answer = answer;
    socket.on("message", (query, { address, port }) => this.#take(query, address, port));
  }

  static async start(answer: (name: string) => NameAnswer): Promise<NameServer> {
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    return new NameServer(socket, answer);
  }

  /** As `dns.setServers` takes it. */
  get address(): string {
    const { address, port } = this.#socket.address();
    return `${address}:${port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }

  #take(query: Buffer, address: string, port: number): void {
    const { name, end } = nameIn(query);
    const isA = query.readUInt16BE(end) === TYPE_A;
    if (isA) this.asked.push(name);
    const answer = this.#answer(name);
    if (answer === "silent") return;
    const found = answer !== "unknown" && isA ? answer : null;
    const reply = Buffer.from(query.subarray(0, end + QUESTION_END_BYTES));
    reply.writeUInt16BE(answer === "unknown" ? NO_SUCH_NAME : ANSWERED, 2);
    for (const [index, count] of [1, found === null ? 0 : 1, 0, 0].entries()) reply.writeUInt16BE(count, 4 + 2 * index);
    const record = found === null ? [] : [RECORD, Buffer.from(found.address.split(".").map(Number))];
    const send = (): void => this.#socket.send(Buffer.concat([reply, ...record]), port, address);
    setTimeout(send, answer === "unknown" ? 0 : (answer.afterMs ?? 0));
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
