/**
 * WebSocket frames of a server (RFC 6455, 5.2: final, unmasked). With them, the bytes of a sample
 * are framed once and written to any number of sockets.
 */
import { assert } from "@kapi/kernel";

const FINAL_TEXT = 0x81;
const FINAL_BINARY = 0x82;
const FINAL_PONG = 0x8a;
const LENGTH_IN_16_BITS = 126;
const LENGTH_IN_64_BITS = 127;

/** Returns the number of bytes of the frame header before a payload of `payloadBytes`. */
export function frameHeaderBytes(payloadBytes: number): number {
  return payloadBytes < LENGTH_IN_16_BITS ? 2 : payloadBytes < 0x1_0000 ? 4 : 10;
}

/** Writes the header of a text frame with `payloadBytes` of payload into `target` at `start`. */
export function writeFrameHeader(target: Buffer, start: number, payloadBytes: number): void {
  target[start] = FINAL_TEXT;
  if (payloadBytes < LENGTH_IN_16_BITS) {
    target[start + 1] = payloadBytes;
  } else if (payloadBytes < 0x1_0000) {
    target[start + 1] = LENGTH_IN_16_BITS;
    target.writeUInt16BE(payloadBytes, start + 2);
  } else {
    target[start + 1] = LENGTH_IN_64_BITS;
    target.writeUIntBE(0, start + 2, 4);
    target.writeUInt32BE(payloadBytes, start + 6);
  }
}

/** Encodes `text` as a text frame. */
export function textFrame(text: string): Buffer {
  const payloadBytes = Buffer.byteLength(text);
  const headerBytes = frameHeaderBytes(payloadBytes);
  const frame = Buffer.allocUnsafe(headerBytes + payloadBytes);
  writeFrameHeader(frame, 0, payloadBytes);
  frame.write(text, headerBytes);
  return frame;
}

/**
 * Encodes the beginning of a binary frame: the header, and `first`, the beginning of the payload.
 * The caller then writes the rest of the payload, which has `restBytes` bytes.
 */
export function binaryFrameStart(first: Buffer, restBytes: number): Buffer {
  const payloadBytes = first.length + restBytes;
  const headerBytes = frameHeaderBytes(payloadBytes);
  const start = Buffer.allocUnsafe(headerBytes + first.length);
  writeFrameHeader(start, 0, payloadBytes);
  start[0] = FINAL_BINARY;
  first.copy(start, headerBytes);
  return start;
}

/** Encodes the pong to a ping frame with `payload`: at most 125 bytes (RFC 6455, 5.5). */
export function pongFrame(payload: Buffer): Buffer {
  assert(payload.length < LENGTH_IN_16_BITS, "the payload of a control frame is longer than 125 bytes");
  return Buffer.concat([Buffer.from([FINAL_PONG, payload.length]), payload]);
}
