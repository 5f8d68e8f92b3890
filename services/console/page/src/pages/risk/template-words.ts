/** Risk templates in words. */
import type { RiskTemplate, RiskTemplateSelection } from "../../api/shapes.ts";
import { credits as whole } from "../../format.ts";

/** States of an account in words. */
export const STATUS_NAMES = {
  active: "active",
  close_only: "close-only",
  disabled: "disabled",
  archived: "archived",
} as const;

/**
 * The accounts that a template selects: `active or disabled accounts whose name begins with “A”`.
 */
export function selectionInWords({ status, nameStartsWith }: RiskTemplateSelection): string {
  const states = (status ?? []).map((one) => STATUS_NAMES[one]).join(" or ");
  const accounts = states === "" ? "accounts" : `${states} accounts`;
  return nameStartsWith === undefined ? accounts : `${accounts} whose name begins with “${nameStartsWith}”`;
}

/** To how many accounts a template is applied, in words. */
export function progressInWords({ progress, accounts: { applied, waiting, failed } }: RiskTemplate): string {
  const has = `${whole(applied)} ${applied === 1 ? "account has" : "accounts have"} it`;
  const waits = waiting === 0 ? "" : `, ${whole(waiting)} will get it`;
  const fails = failed === 0 ? "" : `, ${whole(failed)} failed and will be tried again`;
  return `${has}${waits}${fails}${progress === "applying" && waiting + failed === 0 ? ", searching for more accounts" : ""}`;
}
