import { assertDefined, derivePassword, type PasswordPurpose } from "@kapi/kernel";

import type { Dependencies } from "./dependencies.ts";

/**
 * The generated password of a command. The account service derives the same password, with the key
 * that the command's message names (decisions, 5.2).
 * @throws UnknownKey if this key is no longer in the keyring: a wrong password is never shown.
 * @throws AssertionError if `keyId` is null.
 */
export function generatedPassword(
  { derivationKeys }: Pick<Dependencies, "derivationKeys">,
  commandId: string,
  keyId: string | null,
  purpose: PasswordPurpose,
): string {
  const named = assertDefined(keyId, `the derivation key of command ${commandId}`);
  return derivePassword(derivationKeys, named, commandId, purpose);
}
