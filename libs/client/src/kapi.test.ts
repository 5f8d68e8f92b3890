import { expect, it } from "vitest";

import { Kapi } from "./kapi.ts";
import type { SocketFactory } from "./live/socket.ts";

const KEY = "kapi.a.b";

it("a path of an address is kept, for requests and for the live stream", async () => {
  const urls: string[] = [];
  const socket: SocketFactory = (url) => {
    urls.push(url);
    const ignore = (): void => undefined;
    return { send: ignore, pause: ignore, resume: ignore, close: ignore, terminate: ignore };
  };
  const answer = async (url: string | URL | Request): Promise<Response> => {
    urls.push(url instanceof Request ? url.url : url.toString());
    return Response.json({});
  };
  for (const path of ["", "/", "/pre", "/pre/"]) {
    const kapi = new Kapi({ key: KEY, baseUrl: `https://h${path}`, liveUrl: `wss://h${path}`, fetch: answer, socket });
    await kapi.credits.balance();
    const live = kapi.live({ places: { load: () => Promise.resolve(null) } });
    live.follow({ serverId: "s", accountNumber: "1" }, () => undefined);
    await live.close();
  }
  const atRoot = ["https://h/api/v1/management/credits/balance", "wss://h/api/v1/management/live-metrics"];
  const below = atRoot.map((url) => url.replace("h/", "h/pre/"));
  expect(urls).toEqual([...atRoot, ...atRoot, ...below, ...below]);
});

it("a malformed address of the live stream is rejected at once, with the name of the option", () => {
  const baseUrl = "http://kapi.test";
  for (const liveUrl of [
    "",
    "localhost:8081",
    "ftp://kapi.test",
    "ws://kapi.test?a=1",
    "wss://u:p@kapi.test",
    "ws://kapi.test/api/v1",
  ]) {
    const open = (): Kapi => new Kapi({ key: KEY, baseUrl, liveUrl });
    expect(open, liveUrl).toThrow(TypeError);
    expect(open, liveUrl).toThrow("liveUrl must be");
  }
  for (const liveUrl of ["ws://kapi.test", "wss://kapi.test", "http://kapi.test", "https://kapi.test"]) {
    expect(() => new Kapi({ key: KEY, baseUrl, liveUrl }), liveUrl).not.toThrow();
  }
});
