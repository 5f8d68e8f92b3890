/**
 * The two requests that change who votes in Kafka's controller quorum, which no JavaScript client knows: AddRaftVoter (80)
 * and RemoveRaftVoter (81), version 0.
 */
import net from "node:net";

import { CLUSTER_ID } from "../kafka.ts";
import { LocalError } from "../local-error.ts";

const ADD_VOTER = 80;
const REMOVE_VOTER = 81;
const ANSWER_TIMEOUT_MS = 10_000;
const NO_TAGS = Buffer.from([0]);

/** A member of the quorum: a node with the data folder that it was formatted with. */
export interface Voter {
  readonly nodeId: number;
  /** `directory.id` of its data folder. */
  readonly directoryId: string;
}

/** Gives `voter` a vote; `broker` (host:port) passes the request on to the controller. */
export function addVoter(
  broker: string,
  voter: Voter,
  listener: { readonly name: string; readonly host: string; readonly port: number },
): Promise<void> {
  const port = Buffer.alloc(2);
  port.writeUInt16BE(listener.port);
  const listeners = Buffer.concat([Buffer.from([2]), text(listener.name), text(listener.host), port, NO_TAGS]);
  const body = [text(CLUSTER_ID), int32(ANSWER_TIMEOUT_MS), identity(voter), listeners, NO_TAGS];
  return request(broker, ADD_VOTER, Buffer.concat(body));
}

/** Takes the vote of `voter`, which may be gone. */
export function removeVoter(broker: string, voter: Voter): Promise<void> {
  return request(broker, REMOVE_VOTER, Buffer.concat([text(CLUSTER_ID), identity(voter), NO_TAGS]));
}

function identity({ nodeId, directoryId }: Voter): Buffer {
  return Buffer.concat([int32(nodeId), Buffer.from(directoryId, "base64url")]);
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

/** A compact string of Kafka's protocol; none here is longer than a byte can say. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, "utf8");
  return Buffer.concat([Buffer.from([bytes.length + 1]), bytes]);
}

async function request(broker: string, api: number, body: Buffer): Promise<void> {
  // Header version 2: API, version, correlation id, client id (none), tags.
  const header = Buffer.alloc(11);
  header.writeInt16BE(api, 0);
  header.writeInt32BE(1, 4);
  header.writeInt16BE(-1, 8);
  const answer = await exchange(broker, Buffer.concat([int32(header.length + body.length), header, body]));
  // Size, correlation id, tags, throttle time, then the error and its text.
  const error = answer.readInt16BE(13);
  if (error === 0) return;
  const length = answer.readUInt8(15);
  const message = length <= 1 ? "" : answer.toString("utf8", 16, 15 + length);
  throw new LocalError(`Kafka refused to change its voters: error ${error} ${message}`);
}

function exchange(broker: string, bytes: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(`kafka://${broker}`);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    let answer = Buffer.alloc(0);
    const late = (): void =>
      void socket.destroy(new LocalError(`${broker} did not answer API ${bytes.readInt16BE(4)}`));
    socket.setTimeout(ANSWER_TIMEOUT_MS * 2, late);
    socket.once("connect", () => socket.write(bytes));
    socket.once("error", reject);
    socket.once("close", () => reject(new LocalError(`${broker} closed the connection`)));
    socket.on("data", (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer.length < 4 || answer.length < 4 + answer.readInt32BE(0)) return;
      resolve(answer);
      socket.destroy();
    });
  });
}
