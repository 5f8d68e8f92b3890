import { CommandLineError, EXIT_CODES } from "@kapi/client/cli";
import { createKafka, type KafkaConnection, kafkaOptions } from "@kapi/kafka";
import { systemClock } from "@kapi/kernel";
import { ConfigError, connectionFields, createLogger, loadConfig, type Logger } from "@kapi/runtime";
import type { Command } from "commander";
import { z } from "zod";

import { addCommand, type CommandContext, type PrintOptions, wholeNumber } from "../context.ts";
import { fields } from "../output.ts";
import { growPartitions } from "../partitions/grow.ts";
import { type Environment, fromRunningKapi } from "../running-kapi.ts";

const MS_PER_SECOND = 1_000;
const DEFAULT_TIMEOUT_S = 60;
/** Maximum number of partitions of each topic, as in the topics job. */
const MAX_PARTITIONS = 1_000;

/** The settings of commands that connect to Kafka. */
export const KafkaCommandSettings = z.object(connectionFields.kafka);

interface GrowOptions extends PrintOptions {
  readonly to: number;
  readonly timeout: number;
}

/** `kapi admin partitions grow` */
export function addPartitions(program: Command, context: CommandContext): void {
  const partitions = program
    .command("partitions")
    .description("Partitions of the topics. These commands use the Kafka settings of a service (KAFKA_BROKERS, …)");
  addCommand(
    partitions,
    "grow",
    "Raise the number of partitions of each topic except organization.directory and partition.growth; run the command again if it was interrupted",
  )
    .requiredOption(
      "--to <number>",
      "the new number of partitions of each topic, a multiple of the present number",
      wholeNumber(1),
    )
    .option(
      "--timeout <seconds>",
      "time for consumers to reach the end of the log; afterwards their processes have the same time to end",
      wholeNumber(1),
      DEFAULT_TIMEOUT_S,
    )
    .action((options: GrowOptions) => grow(context, options));
}

async function grow(context: CommandContext, options: GrowOptions): Promise<void> {
  if (options.to > MAX_PARTITIONS)
    throw new CommandLineError(`--to must be at most ${MAX_PARTITIONS}, and is ${options.to}.`, EXIT_CODES.usage);
  const logger = createLogger({ service: "cli", level: "silent" });
  const kafka = await kafkaOf(context.environment, logger);
  const timeoutMs = options.timeout * MS_PER_SECOND;
  try {
    const grown = await growPartitions({
      kafka,
      partitions: options.to,
      drainTimeoutMs: timeoutMs,
      endTimeoutMs: timeoutMs,
      report: (line) => context.err(`${line}\n`),
      clock: systemClock,
      logger,
    });
    context.print(options, grown, ({ from, to }) => fields({ "partitions before": from, "partitions now": to }));
  } catch (error) {
    if (error instanceof CommandLineError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandLineError(
      `${reason}. If the growth has begun, processes may wait until it is complete: run the same command again.`,
      EXIT_CODES.notFinal,
    );
  }
}

async function kafkaOf(environment: Environment, logger: Logger): Promise<KafkaConnection> {
  const given =
    environment["KAFKA_BROKERS"] === undefined
      ? await fromRunningKapi(environment, "set KAFKA_BROKERS", ({ keptProgramEnvironment }, folder) =>
          keptProgramEnvironment(folder, "topics"),
        )
      : environment;
  try {
    return createKafka({ ...kafkaOptions(loadConfig(KafkaCommandSettings, given)), clientId: "cli", logger });
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandLineError(error.problems.join("\n"), EXIT_CODES.usage);
    throw error;
  }
}
