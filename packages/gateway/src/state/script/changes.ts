/** The decisions themselves: what an instance may ask for, by the first argument. */
export const changes = String.raw`
local function place_after(old, places)
  if pool.turned ~= 1 or #old == 0 then return 0, 0 end
  for step = 0, #old - 1 do
    local id = old[((pool.pos or 0) + step) % #old + 1]
    if places[id] then return places[id], step == 0 and (pool.used or 0) or 0 end
  end
  return 0, 0
end

local function forget(id)
  local slot, pin_slot = call('HGET', OWNERS, 'k' .. id), call('HGET', OWNERS, 'o' .. id)
  if slot then call('HDEL', OWNERS, slot) end
  if pin_slot then call('HDEL', OWNERS, 'p' .. pin_slot) end
  call('HDEL', OWNERS, 'k' .. id, 'o' .. id)
  call('HDEL', KEYS_, id)
  call('HDEL', CELLS, id)
  call('ZREM', ORDER, id)
  call('ZREM', USABLE, id)
  call('ZREM', DUE, id)
end

local function set_rules(signature, policy, count)
  if pool.born == nil then pool.born = ARGV[8] end
  call('HSET', POOL, 'born', pool.born, 'sig', signature, 'base', policy.base, 'cap', policy.cap,
    'affinity', policy.affinity and 1 or 0, 'ttl', string.format('%.0f', policy.ttl), 'n', count)
  pool.base, pool.cap, pool.ttl, pool.n = policy.base, policy.cap, policy.ttl, count
end

-- A key that is new, or whose entry has changed.
local function set_entry(id, entry, known, text)
  call('HSET', KEYS_, id, text)
  call('ZADD', ORDER, entry.p, id)
  entries[id] = entry
  if known == nil then
    local slot = fresh_slot(id)
    call('HSET', OWNERS, 'p' .. slot, id, 'o' .. id, slot)
  elseif known.e and not entry.e then
    end_all(id)
  end
  if known and known.s < entry.s then
    local cell = cell_of(id)
    clear(cell)
    save(id, cell)
  else
    refresh(id)
  end
end

-- The pool in its new shape. What has not changed is not touched: a pool may have ten thousand keys.
local function configure(signature, list, policy, groups)
  local old = call('ZRANGE', ORDER, 0, -1)
  local places = {}
  for i, one in ipairs(list) do places[one[1]] = i - 1 end
  pool.pos, pool.used = place_after(old, places)
  set_rules(signature, policy, #list)
  -- Beside the entries, whose form an instance of an older version reads as well.
  if groups then call('HSET', POOL, 'groups', cjson.encode(groups)) else call('HDEL', POOL, 'groups') end
  call('HDEL', POOL, 'dpos', 'dused')
  call('HSET', POOL, 'pos', pool.pos, 'used', pool.used)
  pool.dpos, pool.dused = nil, nil
  local before = {}
  local stored = call('HGETALL', KEYS_)
  for i = 1, #stored, 2 do before[stored[i]] = stored[i + 1] end
  for _, id in ipairs(old) do if not places[id] then forget(id) end end
  for i, one in ipairs(list) do
    local id, rest = one[1], one[2]
    local text = (i - 1) .. ' ' .. rest
    if before[id] ~= text then
      local known = before[id] and read_entry(before[id]) or nil
      local entry = read_entry(text)
      if known and known.s > entry.s then
        entry.s = known.s
        text = string.gsub(text, '%d+$', tostring(known.s))
      end
      set_entry(id, entry, known, text)
    end
  end
  call('DEL', LANES)
  for _, id in ipairs(call('HKEYS', CELLS)) do
    for _, model in ipairs(cell_of(id).m) do
      if model.h.u > now then open_lane(model.n, model.h.u) end
    end
  end
end

local function ticket_of(id, model)
  local cell, entry = cell_of(id), entry_of(id)
  local one = model and model_of(cell, model)
  return {sv = entry.s, g = cell.g, mk = {c = cell.h.c, s = cell.h.s}, mm = one and {c = one.h.c, s = one.h.s} or nil}
end

-- KEYS behind the fixed ones: objects, then lookups, then what is to be bound.
local function choose(q)
  local at = 8
  for i = at + 1, at + q.objects do
    local maker = owner_of(KEYS[i])
    if maker then
      answer.w, answer.k = 'pin', maker
      return
    end
  end
  at = at + q.objects
  local tried = {}
  for _, id in ipairs(q.tried) do tried[id] = true end
  local bound
  if pool.affinity == 1 then
    for i = at + 1, at + q.lookups do
      bound = owner_of(KEYS[i])
      if bound then
        bind(KEYS[i], bound, now)
        break
      end
    end
  end
  at = at + q.lookups
  local function bind_to(id)
    if pool.affinity ~= 1 then return end
    for i = at + 1, #KEYS do bind(KEYS[i], id, now) end
  end
  if bound and not tried[bound] and can_serve(entry_of(bound), cell_of(bound), q.model) then
    start_trial(bound)
    bind_to(bound)
    answer.k, answer.w, answer.t = bound, q.why, ticket_of(bound, q.model)
    return
  end
  local id, passed = take_turn(q.model, tried)
  answer.b = bound
  answer.po = passed
  if id == nil then return end
  if q.bind then bind_to(id) end
  start_trial(id)
  answer.k, answer.w, answer.t = id, 'turn', ticket_of(id, q.model)
end

wake()
local body = op ~= 'configure' and cjson.decode(ARGV[6]) or nil
if op == 'configure' then
  if pool.sig ~= ARGV[7] then
    body = cjson.decode(ARGV[6])
    configure(ARGV[7], body.keys, body.policy, body.groups)
  end
elseif op == 'choose' then
  choose(body)
elseif op == 'fail' then
  answer.applied = fail(body.ticket, body.failure, body.reason, body.scope)
elseif op == 'succeed' then
  answer.applied = succeed(body.ticket)
elseif op == 'disable' then
  answer.applied = disable(body.ticket, body.reason)
elseif op == 'hold' then
  local cell = cell_for(body.ticket)
  if cell then
    cell.held = now + body.forMs
    save(body.ticket.id, cell)
  end
elseif op == 'release' then
  local cell = cell_for(body.ticket)
  if cell and (cell.held ~= 0 or cell.trial ~= 0) then
    cell.held, cell.trial = 0, 0
    save(body.ticket.id, cell)
  end
elseif op == 'reset' then
  if entry_of(body.id) then
    local cell = cell_of(body.id)
    clear(cell)
    save(body.id, cell)
    answer.applied = true
  end
elseif op == 'end' then
  local bound = owner_of(KEYS[9])
  call('DEL', KEYS[9])
  if bound then told_bindings[1] = {name_of(KEYS[9]), false, now} end
  answer.applied = bound ~= nil
elseif op == 'touch' then
  for i, one in ipairs(body) do touch(KEYS[8 + i], one[1], one[2]) end
elseif op == 'merge' then
  for _, one in ipairs(body) do merge(one.id, one.cell) end
elseif op == 'pull' then
  answer.all = {}
  local all = call('HGETALL', CELLS)
  for i = 1, #all, 2 do
    local cell = cjson.decode(all[i + 1])
    if cell.v > body.since then answer.all[all[i]] = cell end
  end
elseif op == 'preview' then
  answer.turns = preview(body.count)
end
if op == 'beat' then
  for i = 1, 8 do call('PEXPIRE', KEYS[i], 2592000000) end
end
return finish()
`;
