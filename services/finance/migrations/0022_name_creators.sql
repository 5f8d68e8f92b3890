-- Who requested the transaction, as `<type>/<id>`: a management key, a user of the console, or a
-- part of kapi. null: nobody requested it through kapi (a trade, the market), or the trading server
-- did not name the creator, or a process of release 0.1.0 took part.
alter table transactions add column created_by text;
