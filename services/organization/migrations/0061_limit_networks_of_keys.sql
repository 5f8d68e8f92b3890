-- IP addresses and networks (CIDR) from which the key may be used; null: from any address.
alter table management_keys add column allowed_networks text[];
