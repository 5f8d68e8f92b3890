import { useId, useState } from "preact/hooks";

import { zoneName } from "../format.ts";
import { allZones, browsersZone, chooseZone, currentZone, isZone, isZoneChosen, UTC } from "../time-zone.ts";
import { Dialog } from "./dialog.tsx";
import { Field } from "./field.tsx";

const BROWSER = "browser";
const OTHER = "other";

/** The control with which a person chooses the time zone of all times. */
export function ZoneChoice() {
  const [isChoosing, setChoosing] = useState(false);
  const zone = currentZone();
  const browsers = browsersZone();
  const value = isZoneChosen() ? zone : BROWSER;
  const choose = (chosen: string): void => {
    if (chosen === OTHER) setChoosing(true);
    else chooseZone(chosen === BROWSER ? null : chosen);
  };
  return (
    <>
      <select
        class="zone"
        aria-label="Time zone of all times"
        value={value}
        onChange={({ currentTarget }) => {
          choose(currentTarget.value);
          // The control keeps showing the current zone: "Other…" only opens a dialog.
          currentTarget.value = value;
        }}
      >
        <option value={BROWSER}>{named(browsers)} (browser)</option>
        <option value={UTC}>UTC</option>
        {value === BROWSER || value === UTC ? null : <option value={value}>{named(value)}</option>}
        <option value={OTHER}>Other…</option>
      </select>
      {isChoosing ? <OtherZone onClose={() => setChoosing(false)} /> : null}
    </>
  );
}

function named(zone: string): string {
  const offset = zoneName(zone, Date.now());
  return offset === zone ? zone : `${offset} ${zone}`;
}

/** Dialog that chooses any zone by its IANA name. */
function OtherZone({ onClose }: { readonly onClose: () => void }) {
  const id = useId();
  const [name, setName] = useState("");
  const [isWrong, setWrong] = useState(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!isZone(name)) return setWrong(true);
    chooseZone(name);
    onClose();
  };
  return (
    <Dialog title="Time zone" onClose={onClose} busy={false}>
      <form onSubmit={submit}>
        <Field
          label="Name of the zone, such as America/New_York"
          error={isWrong ? "This browser knows no zone of this name. Choose a zone from the list." : null}
        >
          {(tied) => (
            <input
              {...tied}
              list={`${id}-zones`}
              autoComplete="off"
              required
              value={name}
              onInput={({ currentTarget }) => {
                setName(currentTarget.value.trim());
                setWrong(false);
              }}
            />
          )}
        </Field>
        <datalist id={`${id}-zones`}>
          {allZones().map((zone) => (
            <option key={zone}>{zone}</option>
          ))}
        </datalist>
        <div class="buttons">
          <button type="submit" class="primary">
            Use this zone
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
