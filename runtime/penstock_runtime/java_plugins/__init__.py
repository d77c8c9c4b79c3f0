"""Kafka Connect's Java plugins, unchanged, in a JVM that is a child of this process.

What each module is for, from the top down:

    classes     adapters that present Java connectors as plugins, made from a location and a class name
    source      the source of a task: takes the records that the JVM polls, and commits
    sink        the sink of a task: puts records into the JVM, and commits what that allows
    running_connector  the Connector object in the JVM of the first task
    task        what both share: a task object, calls and the errors of these, the end
    config_provider  a config provider, whose values replace variables
    catalog     which plugins a plugin path holds
    hosts       the JVM of this process
    jvm_metrics  what plugins measure, for Prometheus
    connection  calls, records and logs between this process and one JVM
    jvm         the JVM's process: its options, its output, how it ended
    records     messages of columns to record batches
    record_writer  record batches to messages of columns
    wire        the form of messages
    locations   a plugin path to the locations of plugins: folders, jars, archives
    host_jar    our own jar, compiled once
    class_archive  an archive of its classes, with which a JVM starts
    jars        its dependencies, pinned
    java_error  exceptions of Java
"""
