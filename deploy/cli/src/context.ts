import type { Surroundings } from "@kapi/client/cli";
import { type Command, InvalidArgumentError } from "commander";

import { type OperatedService, Operator, operatorAddress } from "./operator.ts";

/** The dependencies of the commands. */
export interface CommandContext extends Surroundings {
  /** The caller of a service's routes. It resolves the service's address only at a request. */
  readonly operator: (service: OperatedService) => Operator;
  /** Prints `value` as JSON with `--json`, otherwise as `text` formats it. */
  readonly print: <T>(options: PrintOptions, value: T, text: (value: T) => string) => void;
}

/** The options of every command. */
export interface PrintOptions {
  readonly json?: true;
}

/** Creates the dependencies of the commands from the terminal and environment of the process. */
export function createContext(surroundings: Surroundings): CommandContext {
  return {
    ...surroundings,
    operator: (service) => new Operator(service, () => operatorAddress(surroundings.environment, service)),
    print: (options, value, text) =>
      surroundings.out(options.json === true ? `${JSON.stringify(value, null, 2)}\n` : text(value)),
  };
}

/** Adds a command below `parent`, with the options of every command. */
export function addCommand(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).option("--json", "print JSON, for programs");
}

/** Returns a parser of options that are whole numbers from `min` on, of at most 15 digits. */
export function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min) return value;
    throw new InvalidArgumentError(`It must be a whole number, ${min} or more.`);
  };
}

/** Parses an option with several values, separated by commas or repeated. */
export function several(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), ...text.split(",").map((value) => value.trim())];
}
