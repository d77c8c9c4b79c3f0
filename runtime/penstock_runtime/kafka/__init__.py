"""The one package that talks to Kafka. Foreign exceptions end here: callers see the errors of `penstock.errors`."""
