import { TOPICS, type TopicContract } from "@kapi/contracts";

/** The topics of command messages. */
export const COMMAND_TOPICS: readonly TopicContract[] = [
  TOPICS.commandsAccount,
  TOPICS.commandsFinance,
  TOPICS.commandsExport,
  TOPICS.commandsRisk,
];
