obj.spec.state = "Paused"
return obj
