import type { DirectoryEntry } from "@kapi/contracts";
import type { Producer } from "@kapi/kafka";
import { serverEntry } from "@kapi/testkit";
import { expect, it } from "vitest";

import { publishDirectory } from "./publish-directory.ts";

it("the newest version of a directory entry is published last, even if another process changes the entry meanwhile", async () => {
  const [changed, unchanged] = [serverEntry({ version: 1 }), serverEntry({ version: 4 })];
  let entries: readonly DirectoryEntry[] = [changed, unchanged];
  const log: DirectoryEntry[] = [];
  const store = {
    async *readDirectory() {
      yield await Promise.resolve(entries);
    },
  };
  const send = (_topic: unknown, { value }: { value: string }): Promise<void> => {
    if (entries[0] === changed) {
      entries = [{ ...changed, version: 2, status: "disabled" }, unchanged];
      log.push(...entries.slice(0, 1));
    }
    log.push(JSON.parse(value) as DirectoryEntry);
    return Promise.resolve();
  };
  await publishDirectory(store, { send } as unknown as Producer);
  const last = Map.groupBy(log, (entry) => (entry.kind === "server" ? entry.serverId : ""));
  expect(last.get(changed.serverId)?.at(-1)).toMatchObject({ version: 2, status: "disabled" });
  expect(last.get(unchanged.serverId)).toEqual([unchanged]);
});
