-- Addresses and networks from which a key may be used; null: any.
alter table management_keys add column allowed_networks text[];
