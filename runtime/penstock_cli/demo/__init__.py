"""`penstock demo`: a real Kafka and real connectors on this machine, from nothing to counted records.

    options      options of the command line
    command      course of the demo, from Kafka's start to the count
    folder       folder with the data and the manifests
    connectors   `penstock run` as a child process, and its output as plain lines
    backlog      orders that arrive together, which Spark's workers help to deliver
    counts       what arrived, compared with what had to
    topics       Kafka client of the demo, independent of the runtime that it checks
    stop_signal  Ctrl-C and SIGTERM
    screen       lines for the user
    manifests    connectors of the demo, as they are written for the user

The demos in examples use some of these modules, too.
"""
