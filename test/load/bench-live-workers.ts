/**
 * Child processes of `bench -- live` and `bench -- risk` whose methods the parent calls.
 * `startWorker` starts such a process. The process calls `serve` with its methods.
 */
import { type ChildProcess, fork } from "node:child_process";
import path from "node:path";

type Methods = Readonly<Record<string, (argument: never) => unknown>>;

interface Call {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process that answers calls of the methods `M`. */
export interface Worker<M extends Methods> {
  readonly pid: number;
  /** Calls a method. Rejects with the method's error, or if the process ends before it answers. */
  call<K extends keyof M & string>(method: K, argument: Parameters<M[K]>[0]): Promise<Awaited<ReturnType<M[K]>>>;
  stop(): Promise<void>;
}

/** Starts a script of this folder with the Node of this process. The script calls `serve`. */
export function startWorker<M extends Methods>(script: string, args: readonly string[] = []): Worker<M> {
  const child = fork(path.join(import.meta.dirname, script), args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${script} could not be started`);
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  let calls = 0;
  child.on("message", (answer: Answer) => {
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.error === undefined) call?.resolve(answer.value as never);
    else call?.reject(new Error(`${script}: ${answer.error}`));
  });
  child.once("exit", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${script} ended with ${code}`));
    waiting.clear();
  });
  return {
    pid,
    call: (method, argument) =>
      new Promise((resolve, reject) => {
        calls += 1;
        waiting.set(calls, { resolve, reject });
        const id = calls;
        child.send({ id, method, argument } satisfies Call, (error) => {
          if (error === null) return;
          waiting.delete(id);
          reject(error);
        });
      }),
    stop: () => kill(child),
  };
}

/** Answers calls of the parent process. Exits when the parent exits. */
export function serve(methods: Methods): void {
  const answer = (message: Answer): void => void process.send?.(message);
  process.on("message", (call: Call) => {
    void (async () => {
      try {
        const method = methods[call.method] as ((argument: unknown) => unknown) | undefined;
        if (method === undefined) throw new Error(`no method ${call.method}`);
        answer({ id: call.id, value: await method(call.argument) });
      } catch (error) {
        answer({ id: call.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      }
    })();
  });
  process.once("disconnect", () => process.exit());
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGKILL");
  await exited;
}
