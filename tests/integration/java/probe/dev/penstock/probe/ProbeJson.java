package dev.penstock.probe;

import org.apache.kafka.connect.json.JsonConverter;

/** Kafka's own JsonConverter by another name, so that it runs in place of Penstock's. */
public class ProbeJson extends JsonConverter {}
