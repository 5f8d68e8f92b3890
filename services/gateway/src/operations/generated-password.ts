import { assertDefined, derivePassword, type PasswordPurpose } from "@kapi/kernel";

import type { Dependencies } from "./dependencies.ts";

/**
 * The password that the account service derives too: with the key that the command's message names
 * (decisions, 5.2). Throws where that key is no longer in the keyring: another password than the
 * one that was set is never shown.
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
