import { expect, it } from "vitest";

import { browserInWords } from "./browser-words.ts";

it("a session is named by its browser and system, or by the beginning of an unknown User-Agent", () => {
  const agents = {
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36":
      "Chrome 142 on Linux",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0":
      "Edge 142 on Windows",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1":
      "Safari 18 on iOS",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:145.0) Gecko/20100101 Firefox/145.0": "Firefox 145 on macOS",
    "curl/8.14.1": "curl/8.14.1",
    [`unknown/${"x".repeat(100)}`]: `unknown/${"x".repeat(52)}`,
  };
  for (const [agent, words] of Object.entries(agents)) expect(browserInWords(agent)).toBe(words);
  expect(browserInWords(null)).toBeNull();
});
