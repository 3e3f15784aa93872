/**
 * What every decision needs: the pool's own figures, its keys' cells, the clock, what is told to others.
 *
 * `pool`: figures by name. `keys`: id → place, weight, state of its entry. `cells`: id → what moves about it, only once
 * something has moved. `usable`: ids that the wheel may stop at, by place. `order`: all ids by place. `due`: ids by the
 * end of their next rest. `owners`: slot → id and back; a binding names a slot, so that changing a key's slot ends all its
 * bindings at once. `lanes`: model → the place of its wheel while some key rests for that model.
 */
export const ground = String.raw`
local op, now, channel, pool_id, origin = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local POOL, KEYS_, CELLS, USABLE, ORDER, DUE, OWNERS, LANES = unpack(KEYS, 1, 8)
local call = redis.call

local fields = {'sig', 'pos', 'used', 'dpos', 'dused', 'turned', 'latest', 'v', 'base', 'cap', 'affinity', 'ttl', 'n', 'born', 'heard'}
local pool = {}
for i, value in ipairs(call('HMGET', POOL, unpack(fields))) do
  if value then pool[fields[i]] = (fields[i] == 'sig' or fields[i] == 'born') and value or tonumber(value) end
end
if not pool.sig and op ~= 'configure' then return cjson.encode({missing = true}) end
pool.v = pool.v or 0
pool.n = pool.n or 0

local version_before = pool.v
local told_cells, told_bindings = {}, {}
local answer = {}

local healthy = function() return {f = 0, c = 0, s = 0, a = 0, u = 0, w = 'ladder'} end
local entries, cells = {}, {}

-- Place, weight, enabled, resolved, version of the value.
local function read_entry(text)
  local p, w, e, r, s = string.match(text, '^(%d+) (%d+) (%d) (%d) (%d+)$')
  return {p = tonumber(p), w = tonumber(w), e = e == '1', r = r == '1', s = tonumber(s)}
end

local function entry_of(id)
  if entries[id] == nil then
    local text = call('HGET', KEYS_, id)
    entries[id] = text and read_entry(text) or false
  end
  return entries[id] or nil
end

local function cell_of(id)
  if cells[id] == nil then
    local text = call('HGET', CELLS, id)
    cells[id] = text and cjson.decode(text) or {g = 0, held = 0, trial = 0, h = healthy(), m = {}}
  end
  return cells[id]
end

local function model_of(cell, model)
  for _, one in ipairs(cell.m) do if one.n == model then return one end end
  return nil
end

local function takes_part(entry, cell)
  return entry.e and entry.r and entry.w > 0 and not cell.ref
end

local function model_rests(cell, model)
  local one = model and model_of(cell, model)
  return one ~= nil and one ~= false and one.h.u > now
end

local function can_serve(entry, cell, model)
  return takes_part(entry, cell) and cell.h.u <= now and cell.held <= now and not model_rests(cell, model)
end

-- Tells the wheel whether the key can take a turn, and when to look at it again.
local function refresh(id)
  local entry, cell = entry_of(id), cell_of(id)
  if entry == nil then return end
  if can_serve(entry, cell, nil) and cell.trial <= now then
    call('ZADD', USABLE, entry.p, id)
  else
    call('ZREM', USABLE, id)
  end
  local due
  for _, till in ipairs({cell.h.u, cell.held, cell.trial}) do
    if till > now and (due == nil or till < due) then due = till end
  end
  if due then call('ZADD', DUE, due, id) else call('ZREM', DUE, id) end
end

-- Writes a cell down after a change; everybody is told at the end.
local function save(id, cell)
  if pool.v == version_before then pool.v = pool.v + 1 end
  cell.v, cell.sv = pool.v, entry_of(id).s
  cells[id] = cell
  call('HSET', CELLS, id, cjson.encode(cell))
  told_cells[id] = cell
  refresh(id)
end

local function rebase(health)
  if health.a <= now then return end
  health.u = now + (health.u - health.a)
  health.a = now
end

-- The clocks of instances differ a little: the most advanced one counts. A clock that was set back is another matter.
local function wake()
  if pool.latest and now < pool.latest then
    if pool.latest - now <= 5000 then
      now = pool.latest
    else
      for _, id in ipairs(call('HKEYS', CELLS)) do
        local cell = cell_of(id)
        rebase(cell.h)
        for _, one in ipairs(cell.m) do rebase(one.h) end
        cell.held, cell.trial = 0, 0
        save(id, cell)
      end
    end
  end
  pool.latest = now
  while true do
    local due = call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, 256)
    if #due == 0 then return end
    for _, id in ipairs(due) do
      call('ZREM', DUE, id)
      refresh(id)
    end
  end
end

local function finish()
  if #told_bindings > 0 and pool.v == version_before then pool.v = pool.v + 1 end
  call('HSET', POOL, 'latest', now, 'v', pool.v)
  if pool.v ~= version_before then
    local heard = call('PUBLISH', channel, cjson.encode({p = pool_id, n = pool.born, o = op ~= 'touch' and origin or '', f = version_before, v = pool.v, c = told_cells, b = told_bindings}))
    if heard ~= pool.heard then call('HSET', POOL, 'heard', heard) end
  end
  answer.n, answer.f, answer.v = pool.born, version_before, pool.v
  answer.c = next(told_cells) and told_cells or nil
  return cjson.encode(answer)
end
`;
