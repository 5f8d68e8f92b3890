import { useEffect, useRef, useState } from "preact/hooks";

import type { ConsoleApi } from "../../../api/console-api.ts";
import { useApi, useSession } from "../../../api/context.ts";
import { asFailure, type Failure } from "../../../api/failure.ts";
import type { Command, CommandEnvelope } from "../../../api/shapes.ts";
import {
  acceptedAs,
  decidedAtMs,
  type Intent,
  intentStorageKey,
  isRefused,
  keepIntent,
  loadIntent,
  createIntent,
} from "./intents.ts";

/** Pauses before the second and third attempt, if an earlier attempt had no answer or a 5xx. */
const ATTEMPT_PAUSES_MS = [1_000, 2_000];
/** Pauses between two reads of a command that is not final. */
const FIRST_READ_PAUSE_MS = 200;
const MAX_READ_PAUSE_MS = 2_000;
const PAUSE_GROWTH = 1.5;
const NOT_FOUND = 404;

/** What an intent changes, and how it is sent. */
export interface IntentTarget {
  readonly serverId: string;
  /** Name of what the intent changes, unique within the server, such as an account number. */
  readonly subject: string;
  readonly send: (intent: Intent) => Promise<CommandEnvelope>;
}

/** The intent on a target, and its progress. */
export interface CurrentIntent {
  /** Null: no action is in progress, and no outcome is shown. */
  readonly intent: Intent | null;
  /** The newest known state of the intent's command; null while none is known. */
  readonly command: Command | null;
  /** The new password of a reset; null until an answer with a password arrives on this page. */
  readonly password: string | null;
  /**
   * The last failure of an attempt that left the outcome of the intent unknown. Null if there is no
   * such failure, or if a later attempt was accepted.
   */
  readonly failure: Failure | null;
  /**
   * True if the outcome should be known by now, but the command is not final or was not found. A
   * command that was not found may exist nevertheless.
   */
  readonly isOverdue: boolean;
  /** Sends a new intent. Rejects with a Failure if it is certain that no attempt was accepted. */
  readonly start: (action: Intent["action"], fields: Intent["fields"]) => Promise<void>;
  /**
   * Sends the same intent again, under the same key. If the intent was accepted before and this
   * attempt fails, rejects with a Failure.
   */
  readonly sendAgain: () => Promise<void>;
  /** Forgets the intent, and ignores the answers of its running attempts. */
  readonly dismiss: () => void;
}

/**
 * The intent on the target. The command of the intent is read until the command is final or the
 * intent is overdue. `onDone` is called when the command has succeeded.
 */
export function useIntent(target: IntentTarget, onDone: () => void): CurrentIntent {
  const { serverId } = target;
  const api = useApi();
  const { user } = useSession();
  const storageKey = intentStorageKey(user.id, serverId, target.subject);
  const [intent, setIntent] = useState(() => loadIntent(sessionStorage, storageKey));
  const [command, setCommand] = useState<Command | null>(null);
  const [password, setPassword] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isOverdue, setOverdue] = useState(false);
  const done = useRef(onDone);
  done.current = onDone;

  const keep = (next: Intent | null): void => {
    keepIntent(sessionStorage, storageKey, next);
    setIntent(next);
  };
  const forget = (): void => {
    keep(null);
    setCommand(null);
    setPassword(null);
    setFailure(null);
    setOverdue(false);
  };

  const show = (found: Command): void => {
    setCommand(found);
    if (found.status === "succeeded") done.current();
  };

  /** Whether the command is known: `watch` may find it during an attempt or a pause. */
  const isFound = (): boolean => (loadIntent(sessionStorage, storageKey)?.commandId ?? null) !== null;

  const send = async (given: Intent): Promise<void> => {
    let { state } = given;
    /** Whether the person has dismissed the intent or started another one during this attempt. */
    const isForgotten = (): boolean => loadIntent(sessionStorage, storageKey)?.key !== given.key;
    for (let attempt = 0; ; attempt += 1) {
      const sent: Intent = { ...given, state, sentAtMs: Date.now() };
      // Kept before it is sent: the page may be closed at any moment.
      keep(sent);
      try {
        const answer = await target.send(sent);
        if (isForgotten()) return;
        setFailure(null);
        setPassword(answer.password ?? null);
        show(answer.command);
        keep(acceptedAs(sent, answer.command));
        return;
      } catch (error) {
        if (isForgotten()) return;
        const problem = asFailure(error);
        if (isRefused(problem, state)) {
          forget();
          throw problem;
        }
        // An accepted intent is sent again only for its answer, at the request of the person.
        if (given.state === "accepted") throw problem;
        if (state === "sending") state = "unknown";
        setFailure(problem);
        if (!isFound()) keep({ ...sent, state });
      }
      const pauseMs = ATTEMPT_PAUSES_MS[attempt];
      if (pauseMs === undefined) return;
      await pause(pauseMs);
      if (isForgotten() || isFound()) return;
    }
  };

  const isWatched = intent !== null && intent.state !== "sending" && !isFinal(command);
  useEffect(() => {
    if (intent === null || !isWatched) return undefined;
    const stop = new AbortController();
    const read = (): Promise<Command | null> => readCommand(api, serverId, user.id, intent, stop.signal);
    void watch(read, decidedAtMs(intent), stop.signal, {
      found: (found) => {
        if (intent.commandId === null) {
          const accepted = acceptedAs(intent, found);
          keepIntent(sessionStorage, storageKey, accepted);
          setIntent(accepted);
        }
        show(found);
      },
      overdue: () => setOverdue(true),
    });
    return () => stop.abort();
  }, [api, serverId, user.id, storageKey, intent, isWatched]);

  return {
    intent,
    command,
    password,
    failure,
    isOverdue,
    start: (action, fields) => {
      forget();
      return send(createIntent(action, fields, Date.now()));
    },
    sendAgain: async () => {
      if (intent !== null) await send(intent);
    },
    dismiss: forget,
  };
}

/** Whether the command never changes again. */
export function isFinal(command: Command | null): boolean {
  return command !== null && command.status !== "queued" && command.status !== "leased";
}

function readCommand(
  api: ConsoleApi,
  serverId: string,
  userId: string,
  { commandId, key }: Intent,
  signal: AbortSignal,
): Promise<Command | null> {
  if (commandId !== null) return api.command(serverId, commandId, signal);
  return api.commandOfKey(serverId, `user/${userId}/${key}`, signal);
}

/**
 * Reads a command until it is final, until an answer after `untilMs` shows that the command is not
 * final or does not exist, or until `signal` aborts.
 */
async function watch(
  read: () => Promise<Command | null>,
  untilMs: number,
  signal: AbortSignal,
  report: { readonly found: (command: Command) => void; readonly overdue: () => void },
): Promise<void> {
  for (let pauseMs = FIRST_READ_PAUSE_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, MAX_READ_PAUSE_MS)) {
    let command: Command | null = null;
    let isAnswered = true;
    try {
      command = await read();
    } catch (error) {
      // 404 means that the command does not exist, or was accepted a moment ago. Any other failure
      // says nothing about the command.
      isAnswered = asFailure(error).status === NOT_FOUND;
    }
    if (signal.aborted) return;
    if (command !== null) report.found(command);
    if (isFinal(command)) return;
    if (isAnswered && Date.now() > untilMs) return report.overdue();
    await pause(pauseMs);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
