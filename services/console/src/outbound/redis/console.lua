#!lua name=kapi_console

-- The data of the console in Redis: sessions, and counts of failed sign-ins and of requests for
-- mails. This library is separate from the library of admission, and touches no wallet. The typed
-- wrappers are in console-sessions.ts, sign-in-attempts.ts and recovery-limits.ts.

local SESSION_FIELDS = { 'user', 'version', 'csrf', 'created', 'proof' }
-- Limits the exponent: at this exponent the wait is far above its maximum, and 2^n is still exact.
local MAX_DOUBLINGS = 30

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- OPEN SESSION. keys: session. args: userId version csrfToken idleMs proof address userAgent. A
-- process of the previous release does not send the last three.
local function open_session(keys, args)
  local now = now_ms()
  redis.call('HSET', keys[1], 'user', args[1], 'version', args[2], 'csrf', args[3], 'created', now, 'used', now,
    'proof', args[5] or '', 'address', args[6] or '', 'agent', args[7] or '')
  redis.call('PEXPIRE', keys[1], args[4])
  return 1
end

-- USE SESSION. keys: session. args: idleMs absoluteMs. Returns the session's fields and restarts
-- its idle time; false if the session has ended.
local function use_session(keys, args)
  local kept = redis.call('HMGET', keys[1], unpack(SESSION_FIELDS))
  if not kept[1] then return false end
  local now = now_ms()
  local left = tonumber(kept[4]) + tonumber(args[2]) - now
  if left <= 0 then
    redis.call('DEL', keys[1])
    return false
  end
  redis.call('HSET', keys[1], 'used', now)
  redis.call('PEXPIRE', keys[1], math.min(tonumber(args[1]), left))
  return kept
end

-- Failures count under the e-mail address and under the network address. If somebody has signed in
-- under the e-mail address from this network before, a separate count for both together replaces
-- the count of the e-mail address. So failures from other networks do not lock the user out.
local function counters(keys)
  return { redis.call('EXISTS', keys[4]) == 1 and keys[3] or keys[1], keys[2] }
end

-- BEGIN SIGN-IN. keys: counter of the e-mail address, counter of the network address, counter of
-- the e-mail address from this network, mark of an earlier sign-in from this network.
-- args: windowMs firstWaitMs maxWaitMs freePerEmail freePerAddress.
-- If the attempt must wait, returns the wait in milliseconds and counts nothing. Otherwise returns
-- 0 and counts the attempt as failed until it is taken back, so concurrent attempts count too.
local function begin_sign_in(keys, args)
  local now, wait = now_ms(), 0
  local counted = counters(keys)
  for i, key in ipairs(counted) do
    local kept = redis.call('HMGET', key, 'failures', 'at')
    local over = tonumber(kept[1] or 0) - tonumber(args[3 + i])
    if over >= 0 and kept[2] then
      local pause = math.min(tonumber(args[3]), tonumber(args[2]) * 2 ^ math.min(over, MAX_DOUBLINGS))
      wait = math.max(wait, tonumber(kept[2]) + pause - now)
    end
  end
  if wait > 0 then return math.ceil(wait) end
  for _, key in ipairs(counted) do
    redis.call('HINCRBY', key, 'failures', 1)
    redis.call('HSET', key, 'at', now)
    redis.call('PEXPIRE', key, args[1])
  end
  return 0
end

local function one_less(key)
  if tonumber(redis.call('HGET', key, 'failures') or 0) <= 1 then
    redis.call('DEL', key)
  else
    redis.call('HINCRBY', key, 'failures', -1)
  end
end

-- TAKE BACK SIGN-IN. keys: as in BEGIN SIGN-IN. args: outcome ('succeeded' or 'undecided') knownMs.
-- 'succeeded' clears the count of the e-mail address; if the network is known, the separate count
-- instead. It also removes this attempt from the count of the network address, and marks the
-- network as known under the e-mail address for knownMs.
-- 'undecided' removes only this attempt, from both counts.
local function take_back_sign_in(keys, args)
  local counted = counters(keys)
  one_less(counted[2])
  if args[1] == 'succeeded' then
    redis.call('DEL', counted[1])
    redis.call('SET', keys[4], '1', 'PX', args[2])
  else
    one_less(counted[1])
  end
  return 1
end

-- COUNT RECOVERY. keys: count. args: windowMs. Counts a request for a mail, and returns the count,
-- which is forgotten windowMs after its first request.
local function count_recovery(keys, args)
  local count = redis.call('INCR', keys[1])
  -- NX: a later request does not extend the lifetime.
  redis.call('PEXPIRE', keys[1], args[1], 'NX')
  return count
end

redis.register_function('kapi_console_open_session', open_session)
redis.register_function('kapi_console_use_session', use_session)
redis.register_function('kapi_console_begin_sign_in', begin_sign_in)
redis.register_function('kapi_console_take_back_sign_in', take_back_sign_in)
redis.register_function('kapi_console_count_recovery', count_recovery)
