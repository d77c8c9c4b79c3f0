"""What the operator, its job pods and its task pods tell each other. Each contract has a version of its own."""
