/**
 * Whether a header `If-None-Match` has this entity tag, also as a weak tag or in a list, or is `*`
 * (RFC 9110, 13.1.2). `tag` includes its double quotes, so it cannot be a part of another tag.
 */
export function hasEntityTag(ifNoneMatch: string | undefined, tag: string): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch === "*" || ifNoneMatch.includes(tag));
}
