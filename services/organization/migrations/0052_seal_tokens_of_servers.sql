-- The token for calls to the trading server, encrypted for its server id; null: the server was
-- registered without a token.
alter table servers add column sealed_token jsonb;
