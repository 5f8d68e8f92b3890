/**
 * Shown in place of a part of the overview that is unavailable: its service, or the list of servers
 * that it needs, could not be read in time.
 */
export function Unavailable() {
  return <p class="quiet">Unavailable now. It is read again in a few seconds.</p>;
}
