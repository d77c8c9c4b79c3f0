-- The health of Penstock's resources, derived only from their conditions. Argo CD runs it with the resource as `obj`.
local function condition(name)
  for _, each in ipairs(obj.status.conditions or {}) do
    if each.type == name then
      return each
    end
  end
  return {}
end

local function health(status, message)
  return { status = status, message = message or "" }
end

if obj.metadata.deletionTimestamp ~= nil then
  local message = "Being deleted"
  for _, finalizer in ipairs(obj.metadata.finalizers or {}) do
    message = message .. "; waiting for " .. finalizer
  end
  return health("Progressing", message)
end

-- The status of an earlier generation does not describe this one. A new resource has -1.
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "Waiting for the operator")
end

local ready = condition("Ready")
local stalled = condition("Stalled")
local reconciling = condition("Reconciling")
if stalled.status == "True" then
  return health("Degraded", stalled.message)
end
-- Restarts are in progress, but a user should look at the cause.
if ready.status == "False" and (ready.reason == "TasksFailed" or ready.reason == "TasksLost") then
  return health("Degraded", ready.message)
end
if reconciling.status == "True" then
  return health("Progressing", reconciling.message or ready.message)
end
if ready.status == "True" then
  if ready.reason == "Paused" or ready.reason == "Stopped" then
    return health("Suspended", ready.message)
  end
  return health("Healthy", ready.message)
end
return health("Progressing", ready.message)
