/** Failures, successes and refusals, as in `rules/cooldown.ts` and `memory/memory-state.ts`. */
export const blame = String.raw`
local trial_ms = 2000
local models_remembered = 256

local function ladder_ms(failures)
  return math.min(pool.base * 2 ^ (failures - 1), pool.cap)
end

local function rest_after(failures, failure, same_burst)
  if failure.fixedMs then return failure.fixedMs, 'fixed' end
  if failure.rest == 'at-cap' then return pool.cap, 'quota' end
  local step = same_burst and 0 or ladder_ms(failures)
  local stated = math.min(failure.hintMs or 0, pool.cap)
  if stated > step then return stated, 'stated' end
  return step, 'ladder'
end

local function after_failure(health, failure, mark)
  local same_burst = mark.c ~= health.c
  local failures = same_burst and health.f or health.f + 1
  local rest, wait = rest_after(failures, failure, same_burst)
  local till = now + rest
  local extends = till > health.u
  return {
    f = failures,
    c = same_burst and health.c or health.c + 1,
    s = health.s + 1,
    a = same_burst and health.a or now,
    u = extends and till or health.u,
    w = extends and wait or health.w,
  }
end

local function clear(cell)
  local h = cell.h
  cell.h = healthy()
  cell.h.c, cell.h.s = h.c + 1, h.s + 1
  cell.r, cell.ref = nil, nil
  cell.held, cell.trial = 0, 0
  cell.g = cell.g + 1
  cell.m = {}
end

-- The cell that an outcome belongs to; nil when the key is gone, has another value or was cleared since.
local function cell_for(ticket)
  local entry = entry_of(ticket.id)
  if entry == nil or entry.s ~= ticket.sv then return nil end
  local cell = cell_of(ticket.id)
  if cell.g ~= ticket.g then return nil end
  return cell, entry
end

local function condition_for(cell, model)
  local known = model_of(cell, model)
  if known then return known end
  if #cell.m >= models_remembered then table.remove(cell.m, 1) end
  local fresh = {n = model, h = healthy()}
  cell.m[#cell.m + 1] = fresh
  return fresh
end

local shared_limits = {rate_limited = true, quota_exhausted = true}

local function rest_along(health, till)
  if till <= health.u or till <= now then return false end
  if health.u <= now then health.c, health.a = health.c + 1, now end
  health.u, health.w = till, 'shared'
  return true
end

-- Ids of the keys that share limits with this one, itself among them.
local function group_of(id)
  local text = call('HGET', POOL, 'groups')
  if not text then return {} end
  for _, group in ipairs(cjson.decode(text)) do
    for _, member in ipairs(group) do
      if member == id then return group end
    end
  end
  return {}
end

local function share_rest(failed, reason, till, model)
  if not shared_limits[reason.code] or till <= now then return end
  for _, id in ipairs(group_of(failed)) do
    if id ~= failed and entry_of(id) then
      local cell = cell_of(id)
      local condition = model and condition_for(cell, model) or cell
      local cooldowns = condition.h.c
      if rest_along(condition.h, till) then
        if model or not cell.ref then
          condition.r = {code = reason.code, httpStatus = reason.httpStatus, message = reason.message, at = now, sharedFrom = failed}
        end
        if model then
          open_lane(model, till)
        elseif condition.h.c ~= cooldowns then
          end_all(id)
        end
        save(id, cell)
      end
    end
  end
end

local function fail(ticket, failure, reason, scope)
  local cell = cell_for(ticket)
  if cell == nil then return false end
  local of_model = scope == 'model' and ticket.model ~= nil
  local condition = of_model and condition_for(cell, ticket.model) or cell
  local mark = of_model and (ticket.mm or {c = 0, s = 0}) or ticket.mk
  local before = condition.h
  condition.h = after_failure(before, failure, mark)
  reason.at = now
  if of_model or not cell.ref then condition.r = reason end
  cell.held, cell.trial = 0, 0
  if of_model then
    open_lane(ticket.model, condition.h.u)
  elseif condition.h.c ~= before.c then
    end_all(ticket.id)
  end
  save(ticket.id, cell)
  share_rest(ticket.id, reason, condition.h.u, of_model and ticket.model or nil)
  return true
end

local function settle(condition, mark)
  if condition.h.f == 0 or mark.s ~= condition.h.s then return false end
  condition.h.f = 0
  condition.r = nil
  return true
end

local function succeed(ticket)
  local cell = cell_for(ticket)
  if cell == nil then return false end
  local on_trial = cell.trial ~= 0
  cell.trial = 0
  local changed = settle(cell, ticket.mk)
  local one = ticket.model and model_of(cell, ticket.model)
  local model_changed = one and ticket.mm and settle(one, ticket.mm) or false
  if on_trial or changed or model_changed then save(ticket.id, cell) end
  return changed or model_changed
end

local function disable(ticket, reason)
  local cell, entry = cell_for(ticket)
  if cell == nil or not entry.e or cell.ref then return false end
  cell.ref = true
  reason.at = now
  cell.r = reason
  cell.held, cell.trial = 0, 0
  end_all(ticket.id)
  save(ticket.id, cell)
  return true
end

local function start_trial(id)
  local cell = cell_of(id)
  if cell.h.f == 0 or cell.trial > now then return end
  cell.trial = now + trial_ms
  save(id, cell)
end

-- Two histories of one key: no failure is forgotten, no deadline moves back.
local function merge_health(own, told)
  local later = told.u > own.u and told or own
  local failures = math.max(own.f, told.f)
  if own.s ~= told.s then failures = (told.s > own.s and told or own).f end
  return {f = failures, c = math.max(own.c, told.c), s = math.max(own.s, told.s), a = later.a, u = later.u, w = later.w}
end

local function merge(id, told)
  local entry, own = entry_of(id), cell_of(id)
  if entry == nil or told.sv ~= entry.s or told.g < own.g then return end
  local before = cjson.encode(own)
  if told.g > own.g then
    own = {g = told.g, held = 0, trial = 0, h = told.h, r = told.r, ref = told.ref, m = told.m}
    end_all(id)
  else
    local seen, cooldowns = own.h.s, own.h.c
    own.h = merge_health(own.h, told.h)
    if own.h.c > cooldowns then end_all(id) end
    if told.h.s > seen or own.r == nil then own.r = told.r end
    if told.ref and not own.ref then
      own.ref, own.r = true, told.r
      end_all(id)
    end
    for _, theirs in ipairs(told.m) do
      local ours = condition_for(own, theirs.n)
      if theirs.h.s > ours.h.s or ours.r == nil then ours.r = theirs.r end
      ours.h = merge_health(ours.h, theirs.h)
    end
  end
  for _, one in ipairs(own.m) do
    if one.h.u > now then open_lane(one.n, one.h.u) end
  end
  if cjson.encode(own) ~= before then save(id, own) end
end
`;
