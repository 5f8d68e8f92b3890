import { setImmediate } from "node:timers/promises";

import { expect, it } from "vitest";

import { FakeStream } from "./fake-stream.ts";

const ACCOUNT = { serverId: "5b1f0c52-3d07-4a53-9a4e-7f0d6f3c2b10", accountNumber: "10000001" };

it("the deletion of an account ends its subscriptions: a new account with its number is not sent to them", async () => {
  const stream = new FakeStream();
  const types: string[] = [];
  const socket = stream.socket(
    "ws://fake.test",
    {},
    {
      onMessage: (text) => void types.push((JSON.parse(text) as { type: string }).type),
      onPing: () => undefined,
      onRejection: () => undefined,
      onClose: () => undefined,
    },
  );
  await setImmediate();
  socket.send(JSON.stringify({ type: "subscribe", ...ACCOUNT }));
  stream.publish(ACCOUNT);
  stream.deleteAccount(ACCOUNT);
  stream.publish(ACCOUNT);
  await setImmediate();
  expect(types).toEqual(["connected", "account.metrics", "account.deleted"]);
  socket.terminate();
});
