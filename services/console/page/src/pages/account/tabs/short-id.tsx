/** Lengths in characters: the longest id that is shown whole, and the parts of a longer id. */
const LONGEST_WHOLE = 14;
const FIRST = 8;
const LAST = 4;

/**
 * The id of a record of the trading server. A long id is shortened in the middle; its tooltip has
 * the whole id.
 */
export function ShortId({ id }: { readonly id: string }) {
  if (id.length <= LONGEST_WHOLE) return <code>{id}</code>;
  return (
    <code class="short-id" title={id}>
      {id.slice(0, FIRST)}…{id.slice(-LAST)}
    </code>
  );
}
