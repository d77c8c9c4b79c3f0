"""A configuration that is wrong in many ways: all of them are named at once, and the old tasks go on."""

from .place import Place, condition


def test_all_errors_of_a_configuration_are_reported_together_and_the_old_tasks_continue(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 50})
    source.reaches("Running")
    before = source.lives()
    good = source.spec
    source.configure(rate="fast", partitions=0, value_converter="JsonConvertor")
    message = source.says("ConfigInvalid", "rate", "partitions", "JsonConvertor")
    found = source.get()
    assert "JsonConverter" in message, "what was probably meant is told"
    assert condition(found, "ConfigValid")["status"] == "False"
    assert condition(found, "Stalled")["reason"] == "ConfigInvalid"
    assert found["status"]["state"] == "Running"
    assert source.lives() == before
    assert place.kafka.arriving(source.topic, seconds=1) > 0
    source.apply(**good)
    source.reaches("Running")
    assert source.lives() == before
