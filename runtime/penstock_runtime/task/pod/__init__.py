"""What a task or a job does because it runs in a pod: reports, control, termination message, pages for the kubelet."""
