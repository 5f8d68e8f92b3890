/** The global search: one field, and its results in groups. It can be used without a pointer. */
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";

import { useApi, useSession } from "../api/context.ts";
import { asFailure, type Failure } from "../api/failure.ts";
import type { SearchAnswer } from "../api/shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notice.tsx";
import { go } from "../router.tsx";
import { keepHit, recentHits } from "./recent.ts";
import { groupsOf, type Hit, type HitGroup, SOURCE_NAMES } from "./results.ts";

/** Pause in typing before a search begins. */
const DEBOUNCE_MS = 200;
const MAX_CHARACTERS = 100;

interface SearchState {
  /** The text that the answer belongs to. */
  readonly text: string;
  readonly answer: SearchAnswer | null;
  readonly failure: Failure | null;
}
const NOTHING: SearchState = { text: "", answer: null, failure: null };

/**
 * Searches for `text` after a pause in typing; another text aborts the search. Until the search
 * ends, the state is that of an earlier text.
 */
function useSearch(text: string): SearchState {
  const api = useApi();
  const [state, setState] = useState(NOTHING);
  useEffect(() => {
    if (text === "") {
      setState(NOTHING);
      return undefined;
    }
    const given = new AbortController();
    const timer = setTimeout(() => {
      api
        .search(text, given.signal)
        .then((answer) => setState({ text, answer, failure: null }))
        .catch((error: unknown) => {
          if (!given.signal.aborted) setState({ text, answer: null, failure: asFailure(error) });
        });
    }, DEBOUNCE_MS);
    return () => {
      clearTimeout(timer);
      given.abort();
    };
  }, [api, text]);
  return state;
}

/** The dialog of the global search. */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const { user } = useSession();
  const id = useId();
  const [input, setInput] = useState("");
  const [active, setActive] = useState(0);
  const text = input.trim();
  const { answer, failure, text: answered } = useSearch(text);
  const groups = useMemo((): readonly HitGroup[] => {
    if (text !== "") return answer === null ? [] : groupsOf(answer.results);
    const hits = recentHits(user.id);
    return hits.length === 0 ? [] : [{ title: "Last opened", hits }];
  }, [text, answer, user.id]);
  const hits = groups.flatMap((group) => group.hits);
  useEffect(() => setActive(0), [groups]);
  const open = (hit: Hit): void => {
    keepHit(user.id, hit);
    onClose();
    go(hit.to);
    globalThis.scrollTo(0, 0);
  };
  const press = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const hit = hits[active];
    if (step !== 0 && hits.length > 0) {
      event.preventDefault();
      setActive((active + step + hits.length) % hits.length);
    } else if (event.key === "Enter" && hit !== undefined && (text === "" || answered === text)) {
      event.preventDefault();
      open(hit);
    }
  };
  return (
    <Dialog title="Search" onClose={onClose} busy={false}>
      <div class="search-dialog">
        <input
          type="text"
          role="combobox"
          aria-label="Account, command, transaction, request, webhook event, breach or key"
          aria-autocomplete="list"
          aria-expanded={hits.length > 0}
          aria-controls={`${id}-hits`}
          aria-activedescendant={hits.length > 0 ? `${id}-hit-${active}` : undefined}
          autoComplete="off"
          spellcheck={false}
          maxLength={MAX_CHARACTERS}
          placeholder="Account number or name, key name, or id"
          value={input}
          onInput={({ currentTarget }) => setInput(currentTarget.value)}
          onKeyDown={press}
        />
        <Hits {...{ id, groups, active, open }} />
        <Problem failure={failure} />
        <Outcome {...{ text, answered, answer, count: hits.length }} />
      </div>
    </Dialog>
  );
}

interface HitsProps {
  readonly id: string;
  readonly groups: readonly HitGroup[];
  readonly active: number;
  readonly open: (hit: Hit) => void;
}

function Hits({ id, groups, active, open }: HitsProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [active]);
  let index = -1;
  return (
    <div ref={list} id={`${id}-hits`} role="listbox" aria-label="Search results" class="hits">
      {groups.map(({ title, hits }) => (
        <div key={title} role="group" aria-label={title}>
          <p class="group-title" aria-hidden="true">
            {title}
          </p>
          {hits.map((hit) => {
            index += 1;
            const isActive = index === active;
            return (
              <button
                key={hit.to + hit.title}
                type="button"
                tabIndex={-1}
                id={`${id}-hit-${index}`}
                role="option"
                aria-selected={isActive}
                class="hit"
                onClick={() => open(hit)}
              >
                <strong>{hit.title}</strong> <span class="quiet">{hit.detail}</span>
              </button>
            );
          })}
        </div>
      ))}
    </div>
  );
}

interface OutcomeProps {
  readonly text: string;
  readonly answered: string;
  readonly answer: SearchAnswer | null;
  readonly count: number;
}

/** The number of results, also for screen readers, and the sources that did not answer. */
function Outcome({ text, answered, answer, count }: OutcomeProps) {
  const missing = answer?.unavailable.map((source) => SOURCE_NAMES[source]) ?? [];
  return (
    <>
      {missing.length === 0 ? null : (
        <p class="notice warning">Not searched, so results may be missing: {missing.join(", ")}.</p>
      )}
      <p role="status" class="quiet">
        {outcomeText(text, answered, answer, count)}
      </p>
    </>
  );
}

function outcomeText(text: string, answered: string, answer: SearchAnswer | null, count: number): string {
  if (text === "") return "Type an account number, a name or an id. Arrow keys choose, Enter opens.";
  if (answered !== text) return "Searching…";
  if (answer === null) return "";
  if (count > 0) return `${count} found.`;
  return "Nothing found. For an account, type at least 3 characters of its number or name. Type ids in full.";
}
