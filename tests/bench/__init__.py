"""`make bench`: Penstock and Kafka Connect side by side on the same work, the same broker and the same machine.

    command     what to measure, and where the figures go
    bench       the parts of it, in turn
    source_work, sink_work, trickle    the measures, each with both sides
    sql_work, sql_orders    Kafka to PostgreSQL, beside Debezium's JDBC sink and psql's COPY
    admission   dry runs of kubectl apply, with and without the validating webhook
    operator_work, operator_figures    the operator with many connectors, with idle ones, with one change
    sides       how each side is started on a connector: the same flat configuration for both
    peer        Kafka Connect standalone: its jars and its command
    measured    a running side: its start, its log, its end
    keeper      what runs above a measured side, so that no process of it gets away, nor its CPU time
    tree        CPU seconds and memory of all processes of a side
    timeline    how a figure grew, and when it reached its end
    topics      the broker's half: topics, ends, contents
    data        the lines
    results     goals, medians, table, JSON
    report      the machine, and docs/benchmarks.md

Speed is measured here and asserted nowhere; contents are checked after every run, and a wrong one ends the benchmark.
"""
