import { expect, it } from "vitest";

import { dockerAnswers } from "./docker.ts";

it.each([
  ["no URL", "/var/run/docker.sock"],
  ["a URL with a scheme that is not probed", "ssh://nowhere"],
  ["a missing socket", "unix:///nowhere/docker.sock"],
])("no engine answers if DOCKER_HOST is %s: %s", async (_what, DOCKER_HOST) => {
  expect(await dockerAnswers({ DOCKER_HOST })).toBe(false);
});
