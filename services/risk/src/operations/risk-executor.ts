/** Carries out the commands of `commands.risk`. */
import type { CommandExecutor, CommandOutcome, LeasedCommand } from "@kapi/commands";

import type { TemplateRepository } from "../domain/template-ports.ts";
import { changeRiskRules, type ChangeRiskRulesDependencies } from "./change-risk-rules.ts";
import {
  changeRiskTemplate,
  type ChangeRiskTemplatesDependencies,
  type TemplateEffect,
  templateChangeOf,
} from "./change-risk-templates.ts";

/** Maximum number of commands of one batch that are carried out at the same time. */
const MAX_CONCURRENT_COMMANDS = 8;

interface RiskExecutorDependencies extends ChangeRiskRulesDependencies, ChangeRiskTemplatesDependencies {
  readonly templates: Pick<TemplateRepository, "stateOf" | "changeTemplate">;
  /** The partition whose owner applies the templates of a server. */
  readonly partitionOfServer: (serverId: string) => number;
}

type Outcome = CommandOutcome<TemplateEffect | null>;

/** The executor of `commands.risk`. */
export function createRiskExecutor(dependencies: RiskExecutorDependencies): CommandExecutor<TemplateEffect | null> {
  const execute = (command: LeasedCommand): Promise<Outcome> => {
    const change = templateChangeOf(command.message);
    return change === null ? changeRiskRules(dependencies, command) : changeRiskTemplate(dependencies, change);
  };
  return {
    async execute(_serverId, commands) {
      const outcomes: Outcome[] = [];
      for (let at = 0; at < commands.length; at += MAX_CONCURRENT_COMMANDS) {
        const some = commands.slice(at, at + MAX_CONCURRENT_COMMANDS);
        outcomes.push(...(await Promise.all(some.map(execute))));
      }
      return outcomes;
    },
    // A version of rules becomes active, and a template is stored, only in the transaction in which
    // its command succeeds. An open command has done neither. A version of a closed command is
    // discarded.
    settle: (_serverId, commands) => Promise.resolve(commands.map(() => ({ kind: "closed" }))),
    async apply(transaction, applied) {
      const results = new Map<string, Record<string, unknown>>();
      for (const { message, outcome } of applied) {
        if (outcome.kind !== "succeeded" || outcome.effect === null) continue;
        const { change, accounts } = outcome.effect;
        const partition = dependencies.partitionOfServer(change.serverId);
        const version = await dependencies.templates.changeTemplate(transaction, change, partition);
        results.set(message.commandId, { version, ...(accounts === null ? {} : { accounts }) });
      }
      return results;
    },
    isUnreachable: () => false,
  };
}
