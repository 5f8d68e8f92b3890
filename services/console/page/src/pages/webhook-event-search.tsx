import { useState } from "preact/hooks";

import { Field } from "../parts/field.tsx";
import { go, part } from "../router.tsx";

/** Opens the page of an event, by its id. */
export function EventSearch() {
  const [eventId, setEventId] = useState("");
  const open = (event: SubmitEvent): void => {
    event.preventDefault();
    go(`/webhooks/events/${part(eventId.trim())}`);
  };
  return (
    <form class="inline" role="search" onSubmit={open}>
      <Field label="Find an event" hint="The webhook-id header, or eventId in the payload">
        {(tied) => (
          <input
            {...tied}
            type="search"
            required
            autoComplete="off"
            value={eventId}
            onInput={({ currentTarget }) => setEventId(currentTarget.value)}
          />
        )}
      </Field>
      <button type="submit">Show event</button>
    </form>
  );
}
