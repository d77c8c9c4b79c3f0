"""Run Kafka Connect's Java plugins, unchanged, in a JVM that is a child of this process.

Modules, from the top down:

    classes     adapters that present Java connectors as plugins, made from a location and a class name
    source      source of a task: takes the records that the JVM polls, and commits
    sink        sink of a task: puts records into the JVM, and commits the offsets that the task allows
    running_connector  Connector object in the JVM of the first task
    task        shared by sources and sinks: a task object, its calls and their errors, its end
    config_provider  config provider, whose values replace variables
    catalog     plugins on a plugin path
    hosts       the JVM of this process
    jvm_metrics  metrics of plugins, for Prometheus
    connection  calls, records and logs between this process and one JVM
    jvm         process of the JVM: its options, its output, how it ended
    record_reader  messages of columns to record batches
    record_writer  record batches to messages of columns
    wire        format of messages
    locations   plugin path to the locations of plugins: folders, jars, archives
    host_jar    Penstock's own jar, compiled once
    class_archive  archive of the jar's classes, which speeds up the start of a JVM
    jars        dependencies of the jar, pinned
    java_error  exceptions of Java
"""
