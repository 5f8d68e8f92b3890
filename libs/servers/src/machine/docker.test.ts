import { expect, it } from "vitest";

import { dockerAnswers } from "./docker.ts";

it.each(["/var/run/docker.sock", "ssh://nowhere", "unix:///nowhere/docker.sock"])(
  "no engine answers at DOCKER_HOST %s: no URL, a scheme that is not probed, or a missing socket",
  async (DOCKER_HOST) => {
    expect(await dockerAnswers({ DOCKER_HOST })).toBe(false);
  },
);
