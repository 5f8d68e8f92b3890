import { expect, it } from "vitest";

import { fetchEvidenceKeys } from "./keys.ts";

it("the keys of evidence are fetched below the base address, and a malformed address is rejected without a request", async () => {
  const asked: string[] = [];
  const answer = (url: unknown) => {
    asked.push(String(url));
    return Promise.resolve(new Response('{"keys":[]}'));
  };
  await fetchEvidenceKeys({ baseUrl: "https://kapi.test/pre/", fetch: answer });
  expect(asked).toEqual(["https://kapi.test/pre/.well-known/kapi-evidence-keys.json"]);
  for (const baseUrl of ["", "localhost:8080", "wss://kapi.test", "https://kapi.test?a=1", "https://u:p@kapi.test"]) {
    const fetched = fetchEvidenceKeys({ baseUrl, fetch: answer });
    await expect(fetched, baseUrl).rejects.toThrow(TypeError);
    await expect(fetched, baseUrl).rejects.toThrow("baseUrl must be");
  }
  expect(asked).toHaveLength(1);
});
