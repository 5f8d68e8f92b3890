const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;

/** Murmur2 of `data`, 32 bits signed, as Kafka's Java client computes it (`Utils.murmur2`). */
export function murmur2(data: Uint8Array): number {
  const length = data.length;
  const view = new DataView(data.buffer, data.byteOffset, length);
  let hash = (SEED ^ length) | 0;
  const whole = length & ~3;
  for (let index = 0; index < whole; index += 4) {
    let word = Math.imul(view.getInt32(index, true), M);
    word = Math.imul(word ^ (word >>> R), M);
    hash = Math.imul(hash, M) ^ word;
  }
  const rest = length - whole;
  if (rest >= 3) hash ^= view.getUint8(whole + 2) << 16;
  if (rest >= 2) hash ^= view.getUint8(whole + 1) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ view.getUint8(whole), M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}

/** The partition of `key` among `partitions`, the same as in every Java-compatible producer. */
export function partitionOfKey(key: string, partitions: number): number {
  return (murmur2(Buffer.from(key)) & 0x7fffffff) % partitions;
}
