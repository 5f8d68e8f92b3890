import type { CommandExecutor } from "@kapi/commands";

/**
 * The executor of history exports. This version has none: every command fails in words, through the same machinery and
 * with the same settlement of credits as any other. An export changes nothing anywhere, so it is always closed.
 */
export const exportExecutor: CommandExecutor<null> = {
  execute: async (_serverId, commands) =>
    commands.map(() => ({
      kind: "refuse",
      errorCode: "INTERNAL",
      errorMessage: "History export is not available in this version",
    })),
  settle: async (_serverId, commands) => commands.map(() => ({ kind: "closed" })),
  apply: async () => new Map(),
  isUnreachable: () => false,
};
