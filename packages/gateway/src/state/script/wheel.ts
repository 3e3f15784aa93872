/** The wheel of `rules/wheel.ts` over the sorted set of usable keys, and the lanes of models. */
export const wheel = String.raw`
local function after(place)
  if place + 1 >= pool.n then return 0 end
  return place + 1
end

-- The first usable key at a place from 'least' to 'most', for one model if it has a lane.
local function first_between(least, most, model)
  local offset = 0
  while true do
    local found = call('ZRANGEBYSCORE', USABLE, least, most, 'WITHSCORES', 'LIMIT', offset, model and 32 or 1)
    if #found == 0 then return nil end
    for i = 1, #found, 2 do
      if not model_rests(cell_of(found[i]), model) then return found[i], tonumber(found[i + 1]) end
    end
    offset = offset + #found / 2
  end
end

local function next_from(place, model)
  local id, at = first_between(place, '+inf', model)
  if id then return id, at end
  if place == 0 then return nil end
  return first_between(0, '(' .. place, model)
end

local function weight_of(id)
  return entry_of(id).w
end

-- The key whose turn it is; one whose weight was lowered meanwhile is done.
local function ripe(place, used, model)
  local id, at = next_from(place, model)
  if id == nil or at ~= place or used < weight_of(id) then return id, at end
  return next_from(after(place), model)
end

local function take_detour(turn, tried, model)
  local start, start_used = turn.dpos or after(turn.pos), turn.dused or 0
  local id, at = ripe(start, start_used, model)
  local steps = 0
  for _ in pairs(tried) do steps = steps + 1 end
  for _ = 0, steps do
    if id == nil or not tried[id] then break end
    id, at = next_from(after(at), model)
  end
  if id == nil or tried[id] then return nil end
  turn.dused = (at == start and start_used or 0) + 1
  turn.dpos = at
  return id
end

-- Takes the next turn. 'turn' is a place of the common wheel or of a lane; it is moved on.
local function take(turn, tried, model)
  local id, at = ripe(turn.pos, turn.used, model)
  if id == nil then return nil end
  if tried[id] then return take_detour(turn, tried, model) end
  local used = (at == turn.pos and turn.used or 0) + 1
  if used >= weight_of(id) then
    turn.pos, turn.used = after(at), 0
  else
    turn.pos, turn.used = at, used
  end
  return id
end

local function main_turn()
  return {pos = pool.pos or 0, used = pool.used or 0, dpos = pool.dpos, dused = pool.dused}
end

local function lane_of(model)
  local text = model and call('HGET', LANES, model)
  if not text then return nil end
  local lane = cjson.decode(text)
  if lane.till > now then return lane end
  call('HDEL', LANES, model)
  return nil
end

-- Models that nobody asks for again.
local function close_lanes()
  local all = call('HGETALL', LANES)
  for i = 1, #all, 2 do
    if cjson.decode(all[i + 1]).till <= now then call('HDEL', LANES, all[i]) end
  end
end

local function open_lane(model, till)
  local lane = lane_of(model)
  if lane == nil then
    lane = {pos = pool.pos or 0, used = pool.used or 0, till = till}
    if (call('HLEN', LANES) + 1) % 256 == 0 then close_lanes() end
  end
  lane.till = math.max(lane.till, till)
  call('HSET', LANES, model, cjson.encode(lane))
end

-- Takes a turn for a request; also says whom the wheel passes over, at most eight.
local function take_turn(model, tried)
  local lane = lane_of(model)
  local turn = lane or main_turn()
  local laned = lane and model or nil
  local passed = {}
  local _, stop = ripe(turn.pos, turn.used, laned)
  local function pass(least, most)
    if #passed >= 8 then return end
    for _, id in ipairs(call('ZRANGEBYSCORE', ORDER, least, most, 'LIMIT', 0, 24)) do
      local usable = call('ZSCORE', USABLE, id) and not (laned and model_rests(cell_of(id), laned))
      if not usable and #passed < 8 then passed[#passed + 1] = id end
    end
  end
  if stop == nil or stop < turn.pos then
    pass(turn.pos, '+inf')
    pass(0, '(' .. (stop or turn.pos))
  elseif stop > turn.pos then
    pass(turn.pos, '(' .. stop)
  end
  pool.turned = 1
  local id = take(turn, tried, laned)
  if lane then
    call('HSET', LANES, model, cjson.encode(turn))
    call('HSET', POOL, 'turned', 1)
  else
    pool.pos, pool.used, pool.dpos, pool.dused = turn.pos, turn.used, turn.dpos, turn.dused
    call('HSET', POOL, 'turned', 1, 'pos', turn.pos, 'used', turn.used)
    if turn.dpos then call('HSET', POOL, 'dpos', turn.dpos, 'dused', turn.dused) end
  end
  return id, passed
end

local function preview(count)
  local turns = {}
  local place, used = pool.pos or 0, pool.used or 0
  while #turns < count do
    local id, at = ripe(place, used, nil)
    if id == nil then break end
    turns[#turns + 1] = id
    used = (at == place and used or 0) + 1
    place = at
  end
  return turns
end
`;
