/** Who belongs to which key, as in `memory/affinity.ts`: sessions `s:`, conversations `c:`, objects `o:`. */
export const bindings = String.raw`
local object_ms = 2592000000
-- Told of a binding, an instance need not ask for it; but each one more costs the server a message for every binding.
local told_of_new = 16

local function kind_of(key)
  return string.match(key, ':([sco]):%x+$')
end

local function name_of(key)
  return string.match(key, ':([sco]:%x+)$')
end

local function fresh_slot(id)
  local slot = call('HINCRBY', POOL, 'slots', 1)
  call('HSET', OWNERS, slot, id, 'k' .. id, slot)
  return slot
end

local function end_all(id)
  local slot = call('HGET', OWNERS, 'k' .. id)
  if slot then call('HDEL', OWNERS, slot) end
  fresh_slot(id)
end

-- The key that a binding names, unless it idled out or was ended with its key's cooldown.
local function owner_of(key)
  local text = call('GET', key)
  if not text then return nil end
  local slot, at = string.match(text, '^(p?%d+) (%d+)$')
  if slot == nil then return nil end
  if kind_of(key) ~= 'o' and now - tonumber(at) > (pool.ttl or 0) then return nil end
  local id = call('HGET', OWNERS, slot)
  if not id then return nil end
  return id, tonumber(at)
end

-- Who was not told of a new binding asks when it meets it. Of objects everybody is told: who knows of none asks for none.
-- Now and then all are told, so that their number is seen to fall.
local function is_told(kind, bound)
  return bound ~= nil or kind == 'o' or (pool.heard or 0) <= told_of_new or now % 256 == 0
end

local function bind(key, id, at)
  local kind = kind_of(key)
  local is_object = kind == 'o'
  local slot = call('HGET', OWNERS, (is_object and 'o' or 'k') .. id)
  if not slot then return end
  local bound, used_at = owner_of(key)
  local value = (is_object and 'p' or '') .. slot .. ' ' .. string.format('%.0f', math.max(at, bound == id and used_at or 0))
  call('SET', key, value, 'PX', string.format('%.0f', is_object and object_ms or pool.ttl + 1000))
  if bound ~= id and is_told(kind, bound) then told_bindings[#told_bindings + 1] = {name_of(key), id, at} end
end

-- What was bound elsewhere while this instance could not be told, or to be kept alive. A binding that is here wins.
local function touch(key, id, at)
  local bound = kind_of(key) == 's' and owner_of(key) or nil
  if bound and bound ~= id then
    told_bindings[#told_bindings + 1] = {name_of(key), bound, at}
  else
    bind(key, id, at)
  end
end
`;
