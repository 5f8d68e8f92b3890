import type * as Testcontainers from "testcontainers";

import { messageOf } from "../local-error.ts";

const GONE = /no such container|404|could not find a working container runtime/i;

/**
 * testcontainers, loaded only where a container is wanted. Its own reaper is off: the state record
 * does that work.
 */
export async function testcontainers(): Promise<typeof Testcontainers> {
  process.env["TESTCONTAINERS_RYUK_DISABLED"] ??= "true";
  return import("testcontainers");
}

/** Ends and removes a container that an earlier run left; one that is gone already is as good. */
export async function removeContainer(id: string): Promise<void> {
  const { getContainerRuntimeClient } = await testcontainers();
  try {
    const client = await getContainerRuntimeClient();
    await client.container.getById(id).remove({ force: true });
  } catch (error) {
    if (!GONE.test(messageOf(error))) throw error;
  }
}
