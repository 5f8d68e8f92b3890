/**
 * Shown in place of a part of the overview that is unavailable. The service of the part, or the
 * list of servers that the part needs, could not be read in time.
 */
export function Unavailable() {
  return <p class="quiet">Unavailable now. This page reads this part again in a few seconds.</p>;
}
