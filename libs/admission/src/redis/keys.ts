import { hash } from "node:crypto";

/** How many hash tags the organizations are spread over; fixed, for it is part of every key name. */
export const TAG_COUNT = 64;

/** Number of a hash tag, 0 to {@link TAG_COUNT} - 1. */
export type Tag = number;

/** Every tag, in order. */
export const ALL_TAGS: readonly Tag[] = Array.from({ length: TAG_COUNT }, (_, tag) => tag);

/** Most organizations whose tags are remembered; above it they are worked out anew. About 100 bytes each. */
const MAX_KNOWN_TAGS = 10_000;
/** Every call needs the tag, and the hash would be most of what making its key names costs. */
const knownTags = new Map<string, Tag>();

/** The tag that holds everything of an organization: the first byte of the SHA-256 of its id, modulo {@link TAG_COUNT}. */
export function tagOf(organizationId: string): Tag {
  const known = knownTags.get(organizationId);
  if (known !== undefined) return known;
  const tag = hash("sha256", organizationId, "buffer").readUInt8(0) % TAG_COUNT;
  if (knownTags.size >= MAX_KNOWN_TAGS) knownTags.clear();
  knownTags.set(organizationId, tag);
  return tag;
}

/** `{bNN}`: what decides on which node of a cluster a key lies. */
export function hashTag(tag: Tag): string {
  return `{b${tag.toString().padStart(2, "0")}}`;
}

/** Hash: run id and epoch that a tag was opened with, and the revoked keys. */
export const metaKey = (tag: Tag): string => `${hashTag(tag)}:meta`;
/** Stream of usage entries on their way to the ledger. */
export const usageKey = (tag: Tag): string => `${hashTag(tag)}:usage`;
/** Field of {@link metaKey}: this key is revoked. There, so that one look tells both whether the tag is open and this. */
export const revokedField = (keyId: string): string => `revoked:${keyId}`;
/** Hash: the wallet of an organization. */
export const walletKey = (tag: Tag, organizationId: string): string => `${hashTag(tag)}:wallet:${organizationId}`;
/** Hash: charge id to credits, for each open reservation of an organization. */
export const reservedKey = (tag: Tag, organizationId: string): string => `${hashTag(tag)}:reserved:${organizationId}`;
/** Hash: token bucket of a management key. */
export const bucketKey = (tag: Tag, keyId: string): string => `${hashTag(tag)}:bucket:${keyId}`;
/** Answer of one admission, by which a repeated call is recognized. */
export const chargeKey = (tag: Tag, chargeId: string): string => `${hashTag(tag)}:charge:${chargeId}`;
/** Hash: the claim on a command id. */
export const claimKey = (tag: Tag, commandId: string): string => `${hashTag(tag)}:claim:${commandId}`;
/** Marker: this reservation or purchase was applied to the wallet. */
export const settledKey = (tag: Tag, chargeId: string): string => `${hashTag(tag)}:settled:${chargeId}`;
