-- What was opened of a position, in lots; `volume` is what is left. Null where 0.1.0 wrote the row: its order tells it.
alter table positions add column opened_volume double precision;
alter table staged_positions add column opened_volume double precision;
