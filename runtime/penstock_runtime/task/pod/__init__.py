"""Parts of a task or a job in a pod: reports, control, termination message, pages for the kubelet."""
