/** Creates a key on the page of keys, and sends the request of the shown curl command. */
import type { ConsoleUser } from "./console-user.ts";

/** Maximum time for which a revoked key may still work (decisions, 12). */
export const REVOKED_WITHIN_MS = 2_000;

/** Matches the shown curl command: the URL without quotes, and the header in single quotes. */
export const CURL_LINE = /^curl -s (\S+) -H 'Authorization: ([^']+)'$/;

/** Sends the request of a shown curl command, and returns the response. */
export function sendCurl(line: string): Promise<Response> {
  const [, url = "", authorization = ""] = CURL_LINE.exec(line) ?? [];
  return fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(REVOKED_WITHIN_MS) });
}

/** Creates a key that can read the balance, and returns the shown curl command. */
export async function createKey(user: ConsoleUser, name: string): Promise<string> {
  await user.button("Create a key").click();
  await user.page.getByLabel("Name", { exact: true }).fill(name);
  await user.page.getByRole("checkbox", { name: /credits:read/ }).check();
  await user.page.getByLabel("Expires").selectOption("In 30 days");
  await user.button("Create key").click();
  return user.page.getByRole("region", { name: "A request with the new key" }).first().innerText();
}
