"""Run Kafka Connect's Java plugins, unchanged, in a JVM that is a child of this process.

Modules, from the top down:

    classes     adapters that present Java connectors as plugins, made from a location and a class name
    source      source for a task: delivers the records that the JVM polls, and commits
    sink        sink for a task: passes records to the JVM, and commits the offsets that the task allows
    running_connector  Connector object in the JVM of the first task
    task        task object shared by sources and sinks: starts, calls and stops it, and translates its errors
    config_provider  config provider, whose values replace variables
    catalog     plugins on a plugin path
    hosts       the JVM of this process
    jvm_metrics  metrics of plugins, for Prometheus
    connection  calls, records and requests between this process and one JVM; kills a JVM that does not respond
    jvm         process of the JVM: its options, its output, how it ended
    record_reader  decodes columnar messages into record batches
    record_writer  encodes record batches as columnar messages
    wire        message format
    locations   locations of plugins on a plugin path: folders, jars, archives
    host_jar    jar of the plugin host, compiled once
    class_archive  archive of the host's classes, which speeds up the start of a JVM
    jars        pinned dependencies of the host
    java_error  Java exceptions
"""
