/**
 * The two requests that change the voters of Kafka's controller quorum: AddRaftVoter (80) and
 * RemoveRaftVoter (81), version 0. No JavaScript client supports them.
 */
import net from "node:net";

import { CLUSTER_ID } from "../kafka.ts";
import { LocalError, messageOf } from "../local-error.ts";

const ADD_VOTER = 80;
const REMOVE_VOTER = 81;
const DUPLICATE_VOTER = 126;
const VOTER_NOT_FOUND = 127;
const ANSWER_TIMEOUT_MS = 10_000;
const NO_TAGS = Buffer.from([0]);

/** A member of the quorum, identified by its node id and its data folder. */
export interface Voter {
  readonly nodeId: number;
  /** `directory.id` of its data folder. */
  readonly directoryId: string;
}

/**
 * Makes `voter` a member of the quorum, unless it is one already. Asks the `controllers`
 * (host:port) one after another, because only the leader accepts the request. The request is not
 * sent to a broker's listener: a broker can forward the request to a former leader. `listener` is
 * the controller listener of the voter.
 */
export async function addVoter(
  controllers: readonly string[],
  voter: Voter,
  listener: { readonly name: string; readonly host: string; readonly port: number },
): Promise<void> {
  const port = Buffer.alloc(2);
  port.writeUInt16BE(listener.port);
  const listeners = Buffer.concat([Buffer.from([2]), text(listener.name), text(listener.host), port, NO_TAGS]);
  const body = Buffer.concat([text(CLUSTER_ID), int32(ANSWER_TIMEOUT_MS), identity(voter), listeners, NO_TAGS]);
  await changeVoters(controllers, ADD_VOTER, body, DUPLICATE_VOTER);
}

/** Removes `voter`, if it is a voter; asks the `controllers` like {@link addVoter}. */
export async function removeVoter(controllers: readonly string[], voter: Voter): Promise<void> {
  const body = Buffer.concat([text(CLUSTER_ID), identity(voter), NO_TAGS]);
  await changeVoters(controllers, REMOVE_VOTER, body, VOTER_NOT_FOUND);
}

/**
 * Throws if no controller has made the change. `done` is the error code for a change that was
 * already made.
 */
async function changeVoters(controllers: readonly string[], api: number, body: Buffer, done: number): Promise<void> {
  const errors: string[] = [];
  for (const controller of controllers) {
    try {
      const { error, message } = await request(controller, api, body);
      if (error === 0 || error === done) return;
      errors.push(`${controller} answered error ${error} ${message}`.trim());
    } catch (failure) {
      errors.push(messageOf(failure));
    }
  }
  throw new LocalError(`Kafka's voters were not changed: ${errors.join("; ")}`);
}

function identity({ nodeId, directoryId }: Voter): Buffer {
  return Buffer.concat([int32(nodeId), Buffer.from(directoryId, "base64url")]);
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

/** A compact string of Kafka's protocol. Its length must fit into one byte. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, "utf8");
  return Buffer.concat([Buffer.from([bytes.length + 1]), bytes]);
}

async function request(
  controller: string,
  api: number,
  body: Buffer,
): Promise<{ readonly error: number; readonly message: string }> {
  // Header version 2: API, version, correlation id, client id (none), tags.
  const header = Buffer.alloc(11);
  header.writeInt16BE(api, 0);
  header.writeInt32BE(1, 4);
  header.writeInt16BE(-1, 8);
  const answer = await exchange(controller, Buffer.concat([int32(header.length + body.length), header, body]));
  // Size, correlation id, tags, throttle time, then the error and its text.
  const error = answer.readInt16BE(13);
  const length = answer.readUInt8(15);
  return { error, message: length <= 1 ? "" : answer.toString("utf8", 16, 15 + length) };
}

function exchange(address: string, bytes: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(`kafka://${address}`);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    let answer = Buffer.alloc(0);
    const late = (): void =>
      void socket.destroy(new LocalError(`${address} did not answer API ${bytes.readInt16BE(4)}`));
    socket.setTimeout(ANSWER_TIMEOUT_MS * 2, late);
    socket.once("connect", () => socket.write(bytes));
    socket.once("error", reject);
    socket.once("close", () => reject(new LocalError(`${address} closed the connection`)));
    socket.on("data", (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer.length < 4 || answer.length < 4 + answer.readInt32BE(0)) return;
      resolve(answer);
      socket.destroy();
    });
  });
}
