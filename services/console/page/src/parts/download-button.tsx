import { useEffect, useRef, useState } from "preact/hooks";

import { useApi } from "../api/context.ts";
import { asFailure, type Failure } from "../api/failure.ts";
import { Problem } from "./notice.tsx";
import { Progress } from "./progress.tsx";

/** Time until the address of a saved file is dropped; the browser has read the file long before. */
const KEPT_MS = 60_000;

interface DownloadButtonProps {
  /** Label of the button: "Export CSV". */
  readonly label: string;
  /**
   * Path of the file below the console's API. A response header `x-total-rows` gives the number of
   * rows for the progress.
   */
  readonly path: string;
  readonly fileName: string;
  readonly disabled?: boolean;
}

interface State {
  readonly rows: number;
  readonly total: number | null;
}

/**
 * Saves a file that the server streams, with its progress and a button that cancels it. A file
 * that the server does not finish is not saved.
 */
export function DownloadButton({ label, path, fileName, disabled = false }: DownloadButtonProps) {
  const api = useApi();
  const [state, setState] = useState<State | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const cancel = (): void => {
    running.current?.abort();
    running.current = null;
    setState(null);
  };
  const run = async (): Promise<void> => {
    const given = new AbortController();
    running.current = given;
    setFailure(null);
    setState({ rows: 0, total: null });
    try {
      const file = await api.download(path, given.signal, (rows, total) => setState({ rows, total }));
      if (!given.signal.aborted) save(file, fileName);
    } catch (error) {
      if (!given.signal.aborted) setFailure(asFailure(error));
    } finally {
      if (running.current === given) cancel();
    }
  };
  return (
    <span class="download">
      {state === null ? (
        <button type="button" disabled={disabled} onClick={() => void run()}>
          {label}
        </button>
      ) : (
        <>
          <Progress label={label} done={state.rows} total={state.total} unit="rows" />
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        </>
      )}
      <Problem failure={failure} />
    </span>
  );
}

function save(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
