"""Random cases, answered by Penstock and by Kafka Connect's own classes: what differs is a defect, or a rule in `intended`.

    texts, dates, patterns    the texts that make transforms and converters decide
    shapes                    schemas and values under them, and values without a schema
    transforms                configurations of each transform and predicate
    chain_cases               chains over records
    converter_cases, json_messages
                              converters in both directions, with bytes that are malformed now and then
    subjects                  what is tried: a plugin, whole chains, a converter in one direction
    answers                   Penstock's side of a case
    comparison                whether the two sides agree, and where they part
    intended                  the differences that are meant
    search                    Hypothesis looks for a difference, and makes it small
    __main__                  `make fuzz`

Everything is in the cases' JSON (`cases/`), so that a case found here can be kept there as it is.
"""
