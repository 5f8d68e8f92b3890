import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";
import { commandMessage } from "@kapi/testkit";
import { expect, it } from "vitest";

import { eventOf } from "../../test/events.ts";
import type { CommandRead, LogPosition, TakenIn } from "../domain/ports.ts";
import { createIntake } from "./take-in-commands.ts";

const POSITIONS: readonly LogPosition[] = [{ topic: "commands.finance", partition: 0, nextOffset: 2n }];

/** An intake whose store answers `taken`; `written` is what one statement was given. */
function intakeOf(taken: readonly TakenIn[]) {
  const written: (readonly [readonly (AnyCommandMessage | CommandEvent)[], readonly LogPosition[]])[] = [];
  const forgotten: CommandRead[] = [];
  const write = async (...given: (typeof written)[number]): Promise<readonly TakenIn[]> => {
    written.push(given);
    return taken;
  };
  const intake = createIntake({
    store: { takeInMessages: write, takeInEvents: write },
    records: { forget: async (commands) => void forgotten.push(...commands) },
  });
  return { intake, written, forgotten };
}

it("a message that is twice in a batch is given to the statement once, which could not write its row twice", async () => {
  const [first, second] = [commandMessage(), commandMessage()];
  const { intake, written } = intakeOf([]);
  await intake.takeMessages([first, second, first], POSITIONS);
  expect(written).toEqual([[[first, second], POSITIONS]]);
});

it("of several events of a command the one that wins is written", async () => {
  const message = commandMessage();
  const [leased, ended] = [eventOf(message, { status: "leased", result: null }), eventOf(message, { version: 2 })];
  const { intake, written } = intakeOf([]);
  await intake.takeEvents([leased, ended], POSITIONS);
  expect(written).toEqual([[[ended], POSITIONS]]);
});

it("only records of commands that are final and can be read here are told, of messages and of events", async () => {
  const row = (commandId: string, final: boolean, readable: boolean): TakenIn => ({
    commandId,
    organizationId: "organization",
    final,
    readable,
  });
  const { intake, forgotten } = intakeOf([
    row("over", true, true),
    row("open", false, true),
    row("unreadable", true, false),
  ]);
  await intake.takeMessages([commandMessage()], POSITIONS);
  await intake.takeEvents([eventOf(commandMessage())], POSITIONS);
  expect(forgotten.map(({ commandId }) => commandId)).toEqual(["over", "over"]);
});
