-- The opened volume of the position, in lots. `volume` is the open volume or, for a closed
-- position, the volume before the last close. Null: release 0.1.0 wrote the row. Then the volume of
-- the position's order is used or, without an order, `volume`.
alter table positions add column opened_volume double precision;
alter table staged_positions add column opened_volume double precision;
