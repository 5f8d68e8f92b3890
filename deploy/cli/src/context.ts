import { type Command, InvalidArgumentError } from "commander";

import { type OperatedService, Operator, operatorAddress } from "./operator.ts";
import type { Environment } from "./running-kapi.ts";

/** What surrounds the command line. */
export interface Surroundings {
  readonly environment: Environment;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** The first line of standard input. */
  readonly readLine: () => Promise<string>;
  readonly nowMs: () => number;
  /** Ends a command that runs until it is stopped. */
  readonly signal: AbortSignal;
}

/** What the commands work with. */
export interface CommandContext extends Surroundings {
  /** Found when it is first needed: help needs none. */
  readonly operator: (service: OperatedService) => Operator;
  /** Prints `value` as JSON where the command was asked for that, else as `text` shows it. */
  readonly tell: <T>(options: Telling, value: T, text: (value: T) => string) => void;
}

/** The option of every command. */
export interface Telling {
  readonly json?: true;
}

export function createContext(surroundings: Surroundings): CommandContext {
  return {
    ...surroundings,
    operator: (service) => new Operator(service, () => operatorAddress(surroundings.environment, service)),
    tell: (options, value, text) =>
      surroundings.out(options.json === true ? `${JSON.stringify(value, null, 2)}\n` : text(value)),
  };
}

/** Adds a command below `parent`, with the option that every command has. */
export function addCommand(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).option("--json", "print JSON, for programs");
}

/** Parses an option that is a whole number from `min` on. */
export function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min) return value;
    throw new InvalidArgumentError(`It must be a whole number, ${min} or more.`);
  };
}

/** Parses an option that takes several values, with commas or given again. */
export function several(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), ...text.split(",").map((value) => value.trim())];
}
