/** Shown in place of a part of the overview whose service does not answer. */
export function Unavailable() {
  return <p class="quiet">Unavailable now. It is read again in a few seconds.</p>;
}
