-- The token of a trading server, sealed for it; null for one that was registered without.
alter table servers add column sealed_token jsonb;
