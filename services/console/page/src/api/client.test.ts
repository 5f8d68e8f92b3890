import { afterEach, expect, it, vi } from "vitest";

import { Client } from "./client.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

it("the progress of a download counts rows: a line feed inside quotes ends no row, also if an earlier chunk opened the quotes", async () => {
  const chunks = ['name,note\n"two ""', '\nlines",a\n"', 'more\n",b\n'];
  const body = new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body, { headers: { "x-total-rows": "2" } })));
  const seen: (number | null)[][] = [];
  const file = await new Client().download("/accounts.csv", new AbortController().signal, (rows, total) =>
    seen.push([rows, total]),
  );
  expect(seen).toEqual([
    [0, 2],
    [1, 2],
    [2, 2],
  ]);
  expect(await file.text()).toBe(chunks.join(""));
});
