import { AccountNumber, ClientMessage, type LiveErrorFrame } from "@kapi/contracts";

import { textFrame } from "../../domain/websocket-frame.ts";

/** Maximum length of client text that an error message repeats. */
const MAX_ECHOED_CHARACTERS = 64;

/** The answer to the text `ping`, as a frame. */
export const PONG = textFrame("pong");

/** A decoded message of a client, or the error frame for an invalid one. */
export type ReadMessage =
  | { readonly kind: "ping" }
  | { readonly kind: "message"; readonly message: ClientMessage }
  | { readonly kind: "invalid"; readonly frame: LiveErrorFrame };

/** Decodes a client's message; an invalid one gives the error frame to send (decisions, 10.3). */
export function messageFromWire(data: Buffer, isBinary: boolean): ReadMessage {
  if (isBinary) return invalid("Messages must be text");
  const text = data.toString("utf8");
  if (text === "ping") return { kind: "ping" };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return invalid("The message is not valid JSON");
  }
  const parsed = ClientMessage.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return invalid(`Invalid message: ${issue?.path.join(".") || "message"}: ${issue?.message ?? "invalid"}`, json);
  }
  if (!AccountNumber.safeParse(parsed.data.accountNumber).success) {
    return invalid("Invalid message: accountNumber: not an account number", json);
  }
  return { kind: "message", message: parsed.data };
}

/** Encodes an error message as a frame. */
export function errorFrame(frame: LiveErrorFrame): Buffer {
  return textFrame(JSON.stringify(frame));
}

function invalid(error: string, json?: unknown): ReadMessage {
  const fields = typeof json === "object" && json !== null ? (json as Record<string, unknown>) : {};
  return {
    kind: "invalid",
    frame: {
      type: "error",
      code: "INVALID_MESSAGE",
      error,
      ...echo("serverId", fields["serverId"]),
      ...echo("accountNumber", fields["accountNumber"]),
    },
  };
}

function echo(name: "serverId" | "accountNumber", value: unknown): Partial<LiveErrorFrame> {
  return typeof value === "string" && value.length <= MAX_ECHOED_CHARACTERS ? { [name]: value } : {};
}
