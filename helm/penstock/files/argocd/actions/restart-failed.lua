-- A new value of the annotation is a request; the operator never removes it.
local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["penstock.dev/restart-failed"] = "argocd-" .. os.date("!%Y-%m-%dT%H:%M:%SZ")
return obj
