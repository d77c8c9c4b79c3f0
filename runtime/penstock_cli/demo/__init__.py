"""`penstock demo`: runs a real Kafka and real connectors on this machine, and counts the records.

    options      options of the command line
    command      the demo, from the start of Kafka to the count
    folder       folder with the data and the manifests
    connectors   `penstock run` as a child process, and its output as plain lines
    backlog      backlog of orders that Spark's workers help to deliver
    counts       comparison of delivered and expected records
    topics       Kafka client of the demo, independent of the runtime that it checks
    stop_signal  Ctrl-C and SIGTERM
    screen       output for the user
    manifests    connectors of the demo, as they are written for the user

The demos in examples use some of these modules, too.
"""
