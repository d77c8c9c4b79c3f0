-- The actions that a Connector offers now.
local state = obj.spec.state or "Running"
return {
  pause = { disabled = state == "Paused" },
  resume = { disabled = state == "Running" },
  stop = { disabled = state == "Stopped" },
  restart = { disabled = state == "Stopped" },
  ["restart-failed"] = { disabled = state == "Stopped" },
}
