/** Redis did not take a word about claims; what is to be told is safe to tell again. */
export class ClaimsUnavailable extends Error {
  override readonly name = "ClaimsUnavailable";
}
