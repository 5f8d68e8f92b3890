import type * as Testcontainers from "testcontainers";

import { messageOf } from "../local-error.ts";

const GONE = /no such container|could not find a working container runtime/i;

/**
 * Loads testcontainers when the first container is needed. The reaper of testcontainers is off by
 * default: the state record lists every container, and so the next run or `npm stop` removes the
 * containers of a killed run.
 */
export async function testcontainers(): Promise<typeof Testcontainers> {
  process.env["TESTCONTAINERS_RYUK_DISABLED"] ??= "true";
  return import("testcontainers");
}

/** Stops and removes a container. Does nothing if the container or the Docker engine is missing. */
export async function removeContainer(id: string): Promise<void> {
  const { getContainerRuntimeClient } = await testcontainers();
  try {
    const client = await getContainerRuntimeClient();
    await client.container.getById(id).remove({ force: true });
  } catch (error) {
    if (!GONE.test(messageOf(error))) throw error;
  }
}
