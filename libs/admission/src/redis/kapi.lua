#!lua name=kapi

-- Admission, idempotency records and wallets, as one Redis function library. All keys of a call
-- have one hash tag, so that a call runs on one node of a Redis Cluster. Every key but one is
-- declared (see marker_of). The typed wrappers (admission-functions.ts, wallet-functions.ts)
-- document arguments and replies; README.md has the invariants.
--
-- Processes of the previous release run beside this release, so names of functions, keys, fields
-- and replies stay. In these names a wallet shard is a `tag`, a ready shard OPEN, an unsynced shard
-- CLOSED, and a sync an `opening`. An idempotency record is a `claim`: `fresh` is created, `taken`
-- reclaimed, `untouched` skipped, and `answered` completed.

local WALLET_FIELDS = { 'id', 'available', 'reserved', 'consumed', 'purchased', 'threshold', 'created', 'updated' }
local AVAILABLE, RESERVED, CONSUMED, UPDATED = 2, 3, 4, 8
-- Marks in place of the stored reply of a charge. 'O': the request found an open record, and
-- nothing was charged yet. 'R': the charge was refunded.
local CHARGE_OPEN = 'O'
local CHARGE_REFUNDED = 'R'

-- The replication id changes at every promotion of a replica and at every start of a Redis. The run
-- id does not change at a promotion: a Redis that was demoted and promoted again keeps its run id,
-- and may have lost its last writes.
local function replication_id()
  return string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
end

local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- A shard is ready only under the replication id of its last sync: under another id, writes may be
-- lost. The id is read in every call, because it changes while this library stays loaded. Returns
-- whether the shard is ready, then the shard's field `field` and its epoch.
local function is_ready(meta, field, id)
  local kept = redis.call('HMGET', meta, 'replication', field, 'run', 'epoch')
  if kept[1] then return kept[1] == (id or replication_id()), kept[2], kept[4] end
  -- Without a replication id, the previous release synced the shard, under the run id only (see
  -- shard_state), or the shard has neither id and is unsynced.
  return kept[3] == run_id(), kept[2], kept[4]
end

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- A bucket expires after the time in which an empty bucket becomes full, or up to BUCKET_SPARE_MS
-- later. So most requests need not set the expiry of the bucket.
local BUCKET_SPARE_MS = 60000

-- Takes a token and returns 0, or returns the milliseconds until the next token. Only a bucket with
-- `until_full_ms` is written.
local function take_token(bucket, per_second, burst, now)
  local until_full_ms = math.ceil(burst * 1000 / per_second) + 1000
  local tokens = burst
  if bucket.tokens then
    -- The clock was set back: the bucket fills from now on. Otherwise it would stay empty for as
    -- long as the clock was set back.
    if bucket.at > now then bucket.at, bucket.until_full_ms = now, until_full_ms end
    tokens = math.min(burst, bucket.tokens + (now - bucket.at) * per_second / 1000)
  end
  if tokens < 1 then
    return math.max(1, math.ceil((1 - tokens) * 1000 / per_second))
  end
  bucket.tokens, bucket.at, bucket.until_full_ms = tokens - 1, now, until_full_ms
  return 0
end

-- Writes a bucket. Its expiry is set again only if the bucket could expire before it is full, or
-- would be kept for more than BUCKET_SPARE_MS after it is full.
local function write_bucket(key, bucket)
  local from = bucket.at + bucket.until_full_ms
  if bucket.kept >= from and bucket.kept <= from + BUCKET_SPARE_MS then
    redis.call('HSET', key, 'tokens', bucket.tokens, 'at', bucket.at)
  else
    redis.call('HSET', key, 'tokens', bucket.tokens, 'at', bucket.at, 'kept', from + BUCKET_SPARE_MS)
    redis.call('PEXPIRE', key, bucket.until_full_ms + BUCKET_SPARE_MS)
  end
end

local function write_wallet(key, wallet, now)
  wallet[UPDATED] = now
  redis.call('HSET', key, 'available', wallet[AVAILABLE], 'reserved', wallet[RESERVED], 'consumed', wallet[CONSUMED],
    'updated', now)
end

-- Writes a usage entry: one text in one field, so that its parts are copied together on the way to
-- the ledger, not one by one. The request id is the last part, because it may have spaces. The
-- second field has the span of a traced request. The third field has the name of the caller (the id
-- of a key, or `user/<id>`) and, after a space, the network address if it is known. Entries
-- with the same fields share the field names in the memory of Redis.
local function write_usage(usage, charge_id, kind, organization, operation, request_id, credits, trace, caller)
  local entry = table.concat({ kind, credits, charge_id, organization, operation, request_id }, ' ')
  redis.call('XADD', usage, '*', 'entry', entry, 'trace', trace or '', 'key', caller or '')
end

-- Writes the reservation `charge_id` of a command. If the charge id is not the command id, the
-- entry also has the command id.
local function write_reserved(usage, charge_id, command_id, organization, operation, request_id, credits, trace, caller)
  if charge_id == command_id then
    return write_usage(usage, charge_id, 'reserve', organization, operation, request_id, credits, trace, caller)
  end
  local entry = table.concat({ 'reserve', credits, charge_id, organization, operation, request_id }, ' ')
  redis.call('XADD', usage, '*', 'entry', entry, 'trace', trace or '', 'key', caller, 'command', command_id)
end

-- Writes that a reservation was released. A reader of the previous release reads the entry as a
-- repeated reservation, which changes nothing.
local function write_given_back(usage, charge_id, command_id, organization, operation, request_id, credits, trace, key_id)
  local entry = table.concat({ 'reserve', credits, charge_id, organization, operation, request_id }, ' ')
  redis.call('XADD', usage, '*', 'entry', entry, 'trace', trace or '', 'given_back', '1', 'command', command_id, 'key', key_id)
end

-- Asks the ledger to refund a charge, if the ledger has the charge and has not refunded it. A
-- reader of the previous release reads the entry as a refund of 0 credits.
local function write_asked(usage, charge_id, organization, operation, request_id, trace, key_id)
  local entry = table.concat({ 'refund', 0, charge_id, organization, operation, request_id }, ' ')
  redis.call('XADD', usage, '*', 'entry', entry, 'trace', trace or '', 'ask_ledger', '1', 'key', key_id)
end

-- The charge id of a command's next reservation, as a UUID (version 5). `request` is the charge id
-- of the request that reserves. The charge id of the first reservation is the command id. The
-- ledger has one entry per charge and kind, so after a release the next reservation needs another
-- charge id.
local function next_reservation_id(request, command_id)
  local hex = redis.sha1hex(request .. command_id)
  return string.sub(hex, 1, 8) .. '-' .. string.sub(hex, 9, 12) .. '-5' .. string.sub(hex, 13, 15) .. '-8' .. string.sub(hex, 16, 18)
    .. '-' .. string.sub(hex, 19, 30)
end

-- Number of entries that a stream still has room for, by stream and limit (processes may
-- have different limits). Only these functions add entries, and they count the entries here, so
-- XLEN is called only once in up to MAX_ROOM entries. A stream may exceed a limit by MAX_ROOM after
-- failover and failback, or while processes have different limits.
local ROOM = {}
local MAX_ROOM = 1000

local function has_room(usage, entries, limit)
  local at = usage .. limit
  local left = ROOM[at] or 0
  if left < entries then
    left = math.min(MAX_ROOM, tonumber(limit) - redis.call('XLEN', usage))
  end
  if left < entries then
    ROOM[at] = nil
    return false
  end
  ROOM[at] = left - entries
  return true
end

-- An answer with passwords is unconfirmed until its request sends the answer (CONFIRM COMPLETED),
-- but for at most this time after its record was created or reclaimed. While the answer is
-- unconfirmed and the record is older than openMs, an equal request may reclaim the record, and
-- answer in place of the first request, which perhaps never answered.
local UNCONFIRMED_MS = 120000

-- The outcome of each record of one request, before any write. An outcome is { kind, message,
-- charge id }, or for an open record { kind, age in ms }. The charge id is set only if the
-- reservation has another charge id than the command id. `request` is the charge id of the request,
-- which is also the token of the records that it creates or reclaims.
local function record_outcomes(keys, args, first_key, first_arg, count, request, now, open_ms)
  local outcomes, seen = {}, { mismatch = 0, open = 0, fresh = 0, taken = 0, duplicate = 0 }
  for i = 1, count do
    local at = first_arg + (i - 1) * 5
    local kept = redis.call('HMGET', keys[first_key + (i - 1) * 2], 'fingerprint', 'answered', 'at', 'token', 'message', 'credits',
      'charge', 'given_back', 'unconfirmed')
    local outcome
    if kept[1] then
      local age = now - tonumber(kept[3])
      local is_unconfirmed = kept[9] and age < UNCONFIRMED_MS
      if kept[1] ~= args[at + 1] then
        outcome = { 'mismatch' }
      elseif kept[2] == '1' and not is_unconfirmed then
        outcome = { 'duplicate', kept[5], has_token = kept[4] }
      -- If the clock was set back, the time `at` of the record is in the future. Without math.abs,
      -- the record would stay open at least until that time.
      elseif math.abs(age) < open_ms and kept[4] ~= request then
        outcome = { 'open', age }
      else
        outcome = { 'taken', kept[5], kept[7] or nil, kept = tonumber(kept[6]) }
      end
    elseif args[at + 4] == '1' then
      outcome = { 'duplicate', false }
    else
      outcome = { 'fresh', false, kept[8] and next_reservation_id(request, args[at]) or nil }
    end
    seen[outcome[1]] = seen[outcome[1]] + 1
    outcomes[i] = outcome
  end
  return outcomes, seen
end

-- The marker of a settlement that released its reservation. Earlier versions of this library wrote
-- the marker '1' for every settlement.
local SETTLED_BY_RELEASE = 'release'

-- The key of the marker of a reservation's settlement. `settled` is this key for the first
-- reservation of the command. The charge id of a later reservation is only in the record, so the
-- key for a later reservation cannot be declared. All these keys have one hash tag.
local function marker_of(settled, command_id, charge_id)
  return string.sub(settled, 1, -#command_id - 1) .. charge_id
end

-- Credits to reserve for a new record; 0 if they are already reserved or settled.
local function credits_of_fresh(outcome, command_id, price, settled, reserved)
  local charge_id = outcome[3] or command_id
  if redis.call('HEXISTS', reserved, charge_id) == 1 then return 0 end
  if charge_id == command_id and redis.call('EXISTS', settled) == 1 then return 0 end
  return price
end

-- Credits to reserve again for a reclaimed record; 0 if its reservation exists. The reservation may
-- have been released because command-status did not know the command for a long time. No
-- reservation is needed if command-status knows the command, if the command is final (its message
-- was deleted), or if a settlement consumed its reservation.
local function credits_of_reclaimed(outcome, command_id, price, settled, reserved, is_known)
  if is_known or not outcome[2] then return 0 end
  local charge_id = outcome[3] or command_id
  if redis.call('HEXISTS', reserved, charge_id) == 1 then return 0 end
  local ended = redis.call('GET', marker_of(settled, command_id, charge_id))
  if ended and ended ~= SETTLED_BY_RELEASE then return 0 end
  return outcome.kept > 0 and outcome.kept or price
end

-- Sets `credits` of each created or reclaimed record. Returns their sum, and the sum of the credits
-- that earlier requests reserved for reclaimed records that need no new reservation.
local function price_records(keys, args, first_key, first_arg, outcomes, reserved, request)
  local total, earlier = 0, 0
  for i, outcome in ipairs(outcomes) do
    local at, settled = first_arg + (i - 1) * 5, keys[first_key + (i - 1) * 2 + 1]
    local command_id, price = args[at], tonumber(args[at + 3])
    if outcome[1] == 'fresh' then
      outcome.credits = credits_of_fresh(outcome, command_id, price, settled, reserved)
      total = total + outcome.credits
    elseif outcome[1] == 'taken' then
      outcome.credits = credits_of_reclaimed(outcome, command_id, price, settled, reserved, args[at + 4] == '1')
      if outcome.credits > 0 then
        outcome[3] = next_reservation_id(request, command_id)
        total = total + outcome.credits
      else
        earlier = earlier + outcome.kept
      end
    end
  end
  return total, earlier
end

local function skip(outcomes, kept_kind)
  for _, outcome in ipairs(outcomes) do
    if outcome[1] ~= kept_kind then
      outcome[1] = 'untouched'
      outcome[2] = false
    end
  end
end

-- The fields of a wallet in one text: every reply has the wallet, and one value is cheaper to write
-- and to read.
local function wallet_text(wallet)
  local fields = {}
  for i, value in ipairs(wallet) do
    fields[i] = type(value) == 'number' and string.format('%.0f', value) or value
  end
  return table.concat(fields, ' ')
end

-- The reply that is stored for a repeat of the call has no messages: a message may have a sealed
-- password, and FORGET deletes messages only in records. The epoch is that of the sync that set the
-- charged wallet.
local function pack_answer(answer, epoch)
  local kinds = {}
  for i, outcome in ipairs(answer[4]) do kinds[i] = outcome[1] end
  return cmsgpack.pack({ answer[2], answer[3], kinds, epoch })
end

local function unpack_answer(kept_answer, keys, first_key)
  local kept = cmsgpack.unpack(kept_answer)
  local outcomes = {}
  for i, kind in ipairs(kept[3]) do
    local has_message = kind == 'taken' or kind == 'duplicate'
    local record = redis.call('HMGET', keys[first_key + (i - 1) * 2], 'message', 'charge')
    outcomes[i] = { kind, has_message and record[1], kind ~= 'duplicate' and record[2] or nil }
  end
  -- The previous release stored the wallet as a list.
  local wallet = type(kept[2]) == 'table' and wallet_text(kept[2]) or kept[2]
  return { 'ADMITTED', kept[1], wallet, outcomes }
end

-- The next three functions read data that the requests of a call share, when the first request
-- needs it. Changed data is written once, at the end of the call.

-- Returns whether the shard is ready, then whether the key is revoked.
local function revocation_in(call, key_id)
  local known = call.keys_known[key_id]
  if not known then
    call.replication_id = call.replication_id or replication_id()
    local ready, revoked, epoch = is_ready(call.meta, 'revoked:' .. key_id, call.replication_id)
    known = { ready, revoked }
    call.epoch = epoch
    call.keys_known[key_id] = known
  end
  return known[1], known[2]
end

local function bucket_in(call, key)
  local bucket = call.buckets[key]
  if not bucket then
    local kept = redis.call('HMGET', key, 'tokens', 'at', 'kept')
    bucket = { tokens = tonumber(kept[1] or nil), at = tonumber(kept[2] or nil), kept = tonumber(kept[3] or 0) }
    call.buckets[key] = bucket
  end
  return bucket
end

local function wallet_in(call, key)
  local wallet = call.wallets[key]
  if not wallet then
    wallet = redis.call('HMGET', key, unpack(WALLET_FIELDS))
    call.wallets[key] = wallet
  end
  return wallet
end

-- Numbers of the keys and args of a request, without those of its records.
local REQUEST_KEYS, REQUEST_ARGS = 4, 13

-- Admits one request of a call. The request's keys begin at `first_key`, its args at `first_arg`.
local function admit_one(call, keys, args, first_key, first_arg)
  local wallet_key, bucket_key, charge, reserved = unpack(keys, first_key, first_key + REQUEST_KEYS - 1)
  local key_id, organization, charge_id, mode, asked_price, read_price, operation, request_id, per_second, burst, trace, address,
    record_count = unpack(args, first_arg, first_arg + REQUEST_ARGS - 1)
  local first_record, record_arg, count = first_key + REQUEST_KEYS, first_arg + REQUEST_ARGS, tonumber(record_count)
  local caller = address == '' and key_id or key_id .. ' ' .. address
  if trace == '' then trace = nil end
  local now = call.now

  local ready, revoked = revocation_in(call, key_id)
  if not ready then return { 'CLOSED' } end
  if revoked then return { 'REVOKED' } end
  local kept_answer = redis.call('GET', charge)
  if kept_answer == CHARGE_REFUNDED then return { 'REFUNDED' } end
  if kept_answer and kept_answer ~= CHARGE_OPEN then return unpack_answer(kept_answer, keys, first_record) end

  if per_second ~= '' and not kept_answer then
    local wait = take_token(bucket_in(call, bucket_key), tonumber(per_second), tonumber(burst), now)
    if wait > 0 then return { 'LIMITED', wait } end
  end
  local wallet = wallet_in(call, wallet_key)
  if not wallet[1] then return { 'NO_WALLET' } end
  local available = tonumber(wallet[AVAILABLE])

  local price, must_pay, charged = tonumber(asked_price), true, 0
  local outcomes, seen = {}, nil
  local fresh_price = 0
  if mode == 'free' then
    price = 0
  elseif mode == 'reserve' then
    outcomes, seen = record_outcomes(keys, args, first_record, record_arg, count, charge_id, now, call.open_ms)
    price = tonumber(read_price)
    if seen.mismatch > 0 then
      skip(outcomes, 'mismatch')
    elseif seen.open > 0 then
      skip(outcomes, 'open')
      redis.call('SET', charge, CHARGE_OPEN, 'PX', call.charge_ttl_ms)
      return { 'ADMITTED', 0, wallet_text(wallet), outcomes }
    elseif seen.fresh + seen.taken > 0 then
      local earlier
      price = 0
      fresh_price, earlier = price_records(keys, args, first_record, record_arg, outcomes, reserved, charge_id)
      charged = fresh_price + earlier
    else
      must_pay = false
    end
  end

  local due = price + fresh_price
  if due > 0 and available < due then
    if must_pay then return { 'UNPAID' } end
    price = 0
  end
  local entries = math.max(1, seen and seen.fresh + seen.taken or 0)
  if not has_room(call.usage, entries, call.stream_limit) then return { 'CLOSED' } end

  if price > 0 then
    charged = price
    wallet[AVAILABLE] = available - price
    wallet[CONSUMED] = tonumber(wallet[CONSUMED]) + price
    write_usage(call.usage, charge_id, 'consume', organization, operation, request_id, price, trace, caller)
  elseif fresh_price > 0 then
    wallet[AVAILABLE] = available - fresh_price
    wallet[RESERVED] = tonumber(wallet[RESERVED]) + fresh_price
  end
  if price + fresh_price > 0 then
    wallet[UPDATED] = now
    call.changed_wallets[wallet_key] = wallet
  end
  for i, outcome in ipairs(outcomes) do
    local at, record = record_arg + (i - 1) * 5, keys[first_record + (i - 1) * 2]
    local credits = outcome.credits or 0
    -- A duplicate stays a duplicate: the request that marked the record can no longer reopen it.
    if outcome[1] == 'duplicate' and outcome.has_token then redis.call('HDEL', record, 'token') end
    if outcome[1] == 'taken' then
      redis.call('HSET', record, 'token', charge_id, 'at', now, 'answered', '0')
      if credits > 0 then redis.call('HSET', record, 'credits', credits) end
    elseif outcome[1] == 'fresh' then
      redis.call('HSET', record, 'fingerprint', args[at + 1], 'message', args[at + 2], 'credits', credits, 'token', charge_id,
        'at', now, 'answered', '0')
      redis.call('PEXPIRE', record, call.record_ttl_ms)
    end
    if credits > 0 then
      local reservation = outcome[3] or args[at]
      if outcome[3] then redis.call('HSET', record, 'charge', reservation) end
      redis.call('HSET', reserved, reservation, credits)
      write_reserved(call.usage, reservation, args[at], organization, operation, request_id, credits, trace, caller)
    end
  end
  local answer = { 'ADMITTED', charged, wallet_text(wallet), outcomes }
  if charged > 0 or count > 0 then
    redis.call('SET', charge, pack_answer(answer, call.epoch), 'PX', call.charge_ttl_ms)
  end
  return answer
end

-- ADMIT ALL: requests of one shard, one after another. keys: meta usage, then per request: wallet
-- bucket charge reserved, then per record of the request: record settled. args: openMs recordTtlMs
-- chargeTtlMs streamLimit, then per request: callerName organizationId chargeId mode price
-- readPrice operation requestId perSecond burst span (or empty) networkAddress (or empty)
-- recordCount, then per record of the request: commandId fingerprint message credits
-- knownDuplicate. Returns one reply per request.
local function admit_all(keys, args)
  local call = {
    meta = keys[1], usage = keys[2], now = now_ms(),
    open_ms = tonumber(args[1]), record_ttl_ms = args[2], charge_ttl_ms = args[3], stream_limit = args[4],
    keys_known = {}, buckets = {}, wallets = {}, changed_wallets = {},
  }
  local answers, first_key, first_arg = {}, 3, 5
  while first_key <= #keys do
    answers[#answers + 1] = admit_one(call, keys, args, first_key, first_arg)
    local count = tonumber(args[first_arg + REQUEST_ARGS - 1])
    first_key = first_key + REQUEST_KEYS + count * 2
    first_arg = first_arg + REQUEST_ARGS + count * 5
  end
  for key, bucket in pairs(call.buckets) do
    if bucket.until_full_ms then write_bucket(key, bucket) end
  end
  for key, wallet in pairs(call.changed_wallets) do write_wallet(key, wallet, call.now) end
  return answers
end

-- ADMIT, for processes of the previous release: one request, with its wallet as a list. keys: meta
-- wallet bucket charge usage reserved, then per record: record settled. args: keyId organizationId
-- chargeId mode price readPrice operation requestId perSecond burst openMs recordTtlMs chargeTtlMs
-- streamLimit, then per record as above, then the span of a traced request.
local function admit(keys, args)
  local count = (#keys - 6) / 2
  local all_keys = { keys[1], keys[5], keys[2], keys[3], keys[4], keys[6], unpack(keys, 7) }
  local all_args = { args[11], args[12], args[13], args[14], unpack(args, 1, 10) }
  all_args[15] = args[15 + count * 5] or ''
  all_args[16] = ''
  all_args[17] = count
  for i = 15, 14 + count * 5 do all_args[i + 3] = args[i] end
  local answer = admit_all(all_keys, all_args)[1]
  if answer[1] == 'ADMITTED' then
    local wallet = {}
    for field in string.gmatch(answer[3], '%S+') do wallet[#wallet + 1] = field end
    answer[3] = wallet
  end
  return answer
end

-- MARK COMPLETED. keys: the records of all requests, in order. args: openMs, then per request:
-- recordToken recordCount, 1 if its answer has passwords. Marks all records of a request or none;
-- returns 1 or 0 per request. A repeated call returns 1 as long as the records are marked under the
-- token of the request, also much later. An answer with passwords is unconfirmed until the request
-- confirms that it sends the answer: see UNCONFIRMED_MS.
local function mark_all_completed(keys, args)
  local now, open_ms, outcomes, first = now_ms(), tonumber(args[1]), {}, 1
  for i = 1, (#args - 1) / 3 do
    local at_request = i * 3 - 1
    local token, last, held = args[at_request], first + tonumber(args[at_request + 1]) - 1, 1
    for at = first, last do
      local kept = redis.call('HMGET', keys[at], 'token', 'at', 'answered')
      if kept[1] ~= token or (kept[3] ~= '1' and now - tonumber(kept[2]) >= open_ms) then held = 0 end
    end
    if held == 1 then
      for at = first, last do
        redis.call('HSET', keys[at], 'answered', '1')
        if args[at_request + 2] == '1' then redis.call('HSET', keys[at], 'unconfirmed', '1') end
      end
    end
    outcomes[i] = held
    first = last + 1
  end
  return outcomes
end

-- MARK COMPLETED, for processes of the previous release: one request. args: recordToken openMs
local function mark_completed(keys, args)
  return mark_all_completed(keys, { args[2], args[1], #keys, '0' })[1]
end

-- CONFIRM COMPLETED: the answer is being sent. keys: the records of one request. args: recordToken.
local function confirm_completed(keys, args)
  for _, record in ipairs(keys) do
    if redis.call('HGET', record, 'token') == args[1] then redis.call('HDEL', record, 'unconfirmed') end
  end
  return 'OK'
end

-- Gives up a record of a failed request. If its message was certainly not published, its credits
-- are released and only a mark of the record stays: the next equal request creates the record anew,
-- with another reservation. If this request or an earlier one may have published its message, or
-- may still publish it, the record stays: the next equal request reclaims it at once. Returns the
-- released credits and their charge id.
local function give_up_record(keys, at, command_id, may_be_published)
  local record, reserved = keys[at], keys[5]
  if may_be_published then
    redis.call('HSET', record, 'answered', '0', 'at', '0')
    return 0
  end
  local kept = redis.call('HMGET', record, 'credits', 'charge')
  -- A record without credits has no reservation to release. If its request found the reservation of
  -- an earlier request, that reservation stays: the command may be in progress.
  if tonumber(kept[1] or 0) == 0 then
    redis.call('DEL', record)
    return 0
  end
  local charge_id = kept[2] or command_id
  redis.call('HDEL', record, 'fingerprint', 'message', 'credits', 'token', 'at', 'answered', 'charge')
  redis.call('HSET', record, 'given_back', '1')
  local credits = tonumber(redis.call('HGET', reserved, charge_id) or 0)
  redis.call('HDEL', reserved, charge_id)
  return credits, charge_id
end

-- GIVE BACK: refunds the charges of a request that is answered 5xx, once, also if it is unknown
-- whether the request was charged. If the shard was synced since the charge, or the charge is
-- unknown, the ledger decides: the synced wallet may have the charge, its refund, or neither. keys:
-- meta wallet charge usage reserved, then per record of the request: record. args: organizationId
-- chargeId operation requestId ttlMs streamLimit span (or empty) callerName, then per record:
-- commandId, 1 if its message may be published.
local function give_back(keys, args)
  local ready, epoch = is_ready(keys[1], 'epoch')
  if not ready then return { 'CLOSED' } end
  local charge_id, record_count, trace, key_id = args[2], #keys - 5, args[7], args[8]
  if trace == '' then trace = nil end
  local kept_answer = redis.call('GET', keys[3])
  if kept_answer == CHARGE_REFUNDED then return { 'REFUNDED', 0 } end
  local wallet = redis.call('HMGET', keys[2], unpack(WALLET_FIELDS))
  if wallet[1] and not has_room(keys[4], record_count + 1, args[6]) then return { 'CLOSED' } end
  -- A later admission with the same charge id finds this mark, and charges nothing.
  redis.call('SET', keys[3], CHARGE_REFUNDED, 'PX', args[5])
  local answer = kept_answer and kept_answer ~= CHARGE_OPEN and cmsgpack.unpack(kept_answer) or { 0, '', {} }
  local consumed, released = answer[1], 0
  for _, kind in ipairs(answer[3]) do
    if kind == 'fresh' or kind == 'taken' then consumed = 0 end
  end
  if wallet[1] and (not kept_answer or (consumed > 0 and answer[4] and answer[4] ~= epoch)) then
    consumed = 0
    write_asked(keys[4], charge_id, args[1], args[3], args[4], trace, key_id)
  end
  for i = 1, record_count do
    local kind = answer[3][i]
    if redis.call('HGET', keys[5 + i], 'token') == charge_id then
      local command_id = args[7 + i * 2]
      local credits, came_back = give_up_record(keys, 5 + i, command_id, kind ~= 'fresh' or args[8 + i * 2] == '1')
      if credits > 0 then
        write_given_back(keys[4], came_back, command_id, args[1], args[3], args[4], credits, trace, key_id)
        released = released + credits
      end
    end
  end
  if not wallet[1] or consumed + released == 0 then return { 'REFUNDED', 0 } end
  wallet[AVAILABLE] = tonumber(wallet[AVAILABLE]) + consumed + released
  wallet[RESERVED] = tonumber(wallet[RESERVED]) - released
  wallet[CONSUMED] = tonumber(wallet[CONSUMED]) - consumed
  write_wallet(keys[2], wallet, now_ms())
  if consumed > 0 then write_usage(keys[4], charge_id, 'refund', args[1], args[3], args[4], consumed, trace, key_id) end
  return { 'REFUNDED', consumed + released, wallet }
end

-- REFUND, for processes of the previous release. keys: meta wallet charge usage. args:
-- organizationId chargeId operation requestId ttlMs streamLimit, then the span of a traced request.
local function refund(keys, args)
  if not is_ready(keys[1], 'epoch') then return { 'CLOSED' } end
  local kept_answer = redis.call('GET', keys[3])
  if not kept_answer or kept_answer == CHARGE_OPEN or kept_answer == CHARGE_REFUNDED then return { 'REFUNDED', 0 } end
  local answer = cmsgpack.unpack(kept_answer)
  for _, kind in ipairs(answer[3]) do
    -- A reservation is not refunded: its command may have been published, and its final event
    -- settles it.
    if kind == 'fresh' or kind == 'taken' then return { 'REFUNDED', 0 } end
  end
  local credits = answer[1]
  local wallet = redis.call('HMGET', keys[2], unpack(WALLET_FIELDS))
  if credits == 0 or not wallet[1] then return { 'REFUNDED', 0 } end
  if not has_room(keys[4], 1, args[6]) then return { 'CLOSED' } end
  wallet[AVAILABLE] = tonumber(wallet[AVAILABLE]) + credits
  wallet[CONSUMED] = tonumber(wallet[CONSUMED]) - credits
  write_wallet(keys[2], wallet, now_ms())
  write_usage(keys[4], args[2], 'refund', args[1], args[3], args[4], credits, args[7])
  redis.call('SET', keys[3], CHARGE_REFUNDED, 'PX', args[5])
  return { 'REFUNDED', credits, wallet }
end

-- FORGET. keys: records. args: ttlMs
local function forget(keys, args)
  for _, record in ipairs(keys) do
    redis.call('HDEL', record, 'message')
    redis.call('PEXPIRE', record, args[1], 'LT')
  end
  return #keys
end

-- The wallets of the settlements, by key. Each wallet and its reservations are read once in a call,
-- and written once at the end.
local function read_wallets(keys, args)
  local wallets = {}
  for i = 1, (#keys - 1) / 3 do
    local key = keys[i * 3 - 1]
    local found = wallets[key] or { reserved = keys[i * 3], charges = {}, known = {}, ended = {} }
    found.charges[#found.charges + 1] = args[i * 4 - 2]
    wallets[key] = found
  end
  for key, found in pairs(wallets) do
    found.wallet = redis.call('HMGET', key, unpack(WALLET_FIELDS))
    for i, credits in ipairs(redis.call('HMGET', found.reserved, unpack(found.charges))) do
      found.known[found.charges[i]] = credits
    end
  end
  return wallets
end

local function apply_settlement(found, charge_id, ledger_credits, action)
  local wallet, known = found.wallet, found.known[charge_id]
  local reserved, consumed = tonumber(known or 0), 0
  if known then
    found.ended[#found.ended + 1] = charge_id
    -- A repeated settlement within the call finds no reservation.
    found.known[charge_id] = nil
  end
  -- The credits of the ledger are consumed, also if Redis had reserved other credits or none.
  if action == 'consume' then consumed = tonumber(ledger_credits) end
  wallet[RESERVED] = tonumber(wallet[RESERVED]) - reserved
  wallet[CONSUMED] = tonumber(wallet[CONSUMED]) + consumed
  wallet[AVAILABLE] = tonumber(wallet[AVAILABLE]) + reserved - consumed
  found.changed = true
end

-- SETTLE. keys: meta, then per settlement: wallet reserved settled. args: ttlMs, then per
-- settlement: chargeId credits action epoch. Returns one word per settlement: done (now or before),
-- included (in the wallets of the sync), no_wallet.
local function settle_where(keys, args, only_known)
  local ready, epoch = is_ready(keys[1], 'epoch')
  if not ready then return { 'CLOSED' } end
  local synced_epoch = tonumber(epoch)
  local wallets, outcomes = read_wallets(keys, args), {}
  for i = 1, (#keys - 1) / 3 do
    local found, at = wallets[keys[i * 3 - 1]], i * 4 - 2
    if tonumber(args[at + 3]) < synced_epoch then
      -- The wallets of the sync include the settlement. If its reservation exists, the reservation
      -- was made after the sync, and is released.
      if found.known[args[at]] and found.wallet[1] then apply_settlement(found, args[at], args[at + 1], 'release') end
      outcomes[i] = 'included'
    elseif not found.wallet[1] then
      outcomes[i] = 'no_wallet'
    else
      -- A repeated settlement within the call finds the marker of the first settlement.
      if (not only_known or found.known[args[at]]) and redis.call('SET', keys[i * 3 + 1], args[at + 2], 'NX', 'PX', args[1]) then
        apply_settlement(found, args[at], args[at + 1], args[at + 2])
      end
      outcomes[i] = 'done'
    end
  end
  local now = now_ms()
  for key, found in pairs(wallets) do
    if found.changed then write_wallet(key, found.wallet, now) end
    if #found.ended > 0 then redis.call('HDEL', found.reserved, unpack(found.ended)) end
  end
  return { 'SETTLED', outcomes }
end

local function settle(keys, args)
  return settle_where(keys, args, false)
end

-- SETTLE AGAIN: settlements that may have been applied longer ago than Redis remembers. They are
-- applied only if their reservation still exists.
local function settle_again(keys, args)
  return settle_where(keys, args, true)
end

-- PURCHASE. keys: meta wallet settled. args: credits epoch ttlMs walletId threshold createdMs
local function purchase(keys, args)
  local ready, epoch = is_ready(keys[1], 'epoch')
  if not ready then return 'CLOSED' end
  if tonumber(args[2]) < tonumber(epoch) then return 'included' end
  if not redis.call('SET', keys[3], '1', 'NX', 'PX', args[3]) then return 'done' end
  if redis.call('EXISTS', keys[2]) == 0 then
    redis.call('HSET', keys[2], 'id', args[4], 'available', 0, 'reserved', 0, 'consumed', 0, 'purchased', 0,
      'threshold', args[5], 'created', args[6])
  end
  redis.call('HINCRBY', keys[2], 'available', args[1])
  redis.call('HINCRBY', keys[2], 'purchased', args[1])
  redis.call('HSET', keys[2], 'updated', now_ms())
  return 'done'
end

-- Writes the wallets of one call of a sync. An entry without a wallet id continues the reservations
-- of the wallet before it.
local function fill_wallets(keys, args, first_arg)
  local at = first_arg
  for i = 2, #keys, 2 do
    if args[at] ~= '' then
      local values = {}
      for field, name in ipairs(WALLET_FIELDS) do
        values[field * 2 - 1] = name
        values[field * 2] = args[at + field - 1]
      end
      redis.call('UNLINK', keys[i], keys[i + 1])
      redis.call('HSET', keys[i], unpack(values))
    end
    local count = tonumber(args[at + 8])
    at = at + 9
    for _ = 1, count do
      redis.call('HSET', keys[i + 1], args[at], args[at + 1])
      at = at + 2
    end
  end
end

-- SYNC SHARD PART: a sync in one or several calls, so that no call blocks Redis for long. keys:
-- meta, then per entry: wallet reserved. args: epoch, 1 in the first call, 1 in the last call, then
-- per entry: id available reserved consumed purchased threshold created updated, the number n of
-- reservations, and n times: chargeId credits. `opening` in the meta names the only sync that may
-- continue: the wallets of an older sync lack newer changes, and parts of a sync under another
-- replication id may be lost. A sync that read the ledger before the last completed sync must not
-- begin: changes that were applied since would be missing.
local function sync_shard_part(keys, args)
  local meta, epoch, is_first, is_last, id = keys[1], args[1], args[2] == '1', args[3] == '1', replication_id()
  if is_ready(meta, 'epoch', id) then return 'already' end
  local sync, kept = epoch .. ' ' .. id, redis.call('HGET', meta, 'opening') or ''
  if is_first then
    local kept_epoch, kept_id = string.match(kept, '^(%d+) (%x+)$')
    if kept_id == id and tonumber(kept_epoch) > tonumber(epoch) then return 'overtaken' end
    if tonumber(redis.call('HGET', meta, 'epoch') or 0) >= tonumber(epoch) then return 'overtaken' end
  elseif kept ~= sync then
    return 'overtaken'
  end
  fill_wallets(keys, args, 4)
  if not is_last then
    redis.call('HSET', meta, 'opening', sync)
    return 'filled'
  end
  -- The run id is for processes of the previous release.
  redis.call('HSET', meta, 'replication', id, 'run', run_id(), 'epoch', epoch)
  redis.call('HDEL', meta, 'opening')
  return 'opened'
end

-- SYNC SHARD, for processes of the previous release: all entries in one call. args: epoch, then the
-- entries.
local function sync_shard(keys, args)
  local all_args = { args[1], '1', '1' }
  for i = 2, #args do all_args[i + 2] = args[i] end
  return sync_shard_part(keys, all_args)
end

-- SHARD STATE. keys: meta. A shard that the previous release synced on this run of Redis gets the
-- current replication id.
local function shard_state(keys)
  local ready = is_ready(keys[1], 'epoch')
  if ready and redis.call('HEXISTS', keys[1], 'replication') == 0 then
    redis.call('HSET', keys[1], 'replication', replication_id())
  end
  return ready and 1 or 0
end

-- WALLET: reads a wallet. keys: meta wallet. args: none, or the threshold to set first
local function wallet_of(keys, args)
  if not is_ready(keys[1], 'epoch') then return { 'CLOSED' } end
  if redis.call('EXISTS', keys[2]) == 0 then return { 'NO_WALLET' } end
  if args[1] then redis.call('HSET', keys[2], 'threshold', args[1], 'updated', now_ms()) end
  return { 'WALLET', redis.call('HMGET', keys[2], unpack(WALLET_FIELDS)) }
end

-- READ SHARD. keys: meta usage, then wallets. args: maxEntries. Returns the entries of the usage
-- stream and the wallets, both of the same moment; BUSY if the stream has more than maxEntries.
local function read_shard(keys, args)
  if not is_ready(keys[1], 'epoch') then return { 'CLOSED' } end
  if redis.call('XLEN', keys[2]) > tonumber(args[1]) then return { 'BUSY' } end
  local wallets = {}
  for i = 3, #keys do
    wallets[i - 2] = redis.call('HMGET', keys[i], unpack(WALLET_FIELDS))
  end
  return { 'OPEN', redis.call('XRANGE', keys[2], '-', '+'), wallets }
end

redis.register_function('kapi_admit_all', admit_all)
redis.register_function('kapi_admit', admit)
redis.register_function('kapi_mark_all_answered', mark_all_completed)
redis.register_function('kapi_mark_answered', mark_completed)
redis.register_function('kapi_confirm_answered', confirm_completed)
redis.register_function('kapi_refund', refund)
redis.register_function('kapi_give_back', give_back)
redis.register_function('kapi_forget', forget)
redis.register_function('kapi_settle', settle)
redis.register_function('kapi_settle_again', settle_again)
redis.register_function('kapi_purchase', purchase)
redis.register_function('kapi_open_tag_part', sync_shard_part)
redis.register_function('kapi_open_tag', sync_shard)
redis.register_function('kapi_look_at_tag', shard_state)
-- `kapi_tag_state` is for processes of the previous release. This release calls `kapi_look_at_tag`,
-- which the previous library does not have: if that library was loaded last, the call fails, and
-- the process loads this library again.
redis.register_function('kapi_tag_state', shard_state)
redis.register_function('kapi_wallet', wallet_of)
redis.register_function { function_name = 'kapi_read_tag', callback = read_shard, flags = { 'no-writes' } }
