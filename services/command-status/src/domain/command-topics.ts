import { TOPICS, type TopicContract } from "@kapi/contracts";

/** The topics whose messages become rows. */
export const COMMAND_TOPICS: readonly TopicContract[] = [
  TOPICS.commandsAccount,
  TOPICS.commandsFinance,
  TOPICS.commandsExport,
];
