"""Broker settings and logging configuration, written into the data folder at every start.

Paths are relative to the data folder, which is the broker's working directory: properties files cannot contain every path.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["LOG", "STDERR", "TEMPORARY", "TOPICS", "Ports", "template", "write_settings"]

TOPICS = "topics"  # the folder that holds Kafka's own data
LOG = "kafka.log"
TEMPORARY = "tmp"
STDERR = "kafka.stderr"  # Java's own output


class Ports(NamedTuple):
    """Ports of the embedded broker's listeners on 127.0.0.1: one for clients, one for its KRaft controller."""

    broker: int
    controller: int


# One node: every internal topic has one replica, and few partitions, since each costs files and start-up time.
# Retention and similar settings keep Kafka's defaults. The controller accepts a new broker only after the session of a
# killed one has expired, so the session is shorter than Kafka's 9 s.
_SERVER = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{ports.controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{ports.broker},CONTROLLER://127.0.0.1:{ports.controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{ports.broker}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={topics}
log.segment.bytes=67108864
log.cleaner.dedupe.buffer.size=33554432
auto.create.topics.enable=true
num.partitions=1
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
metadata.max.idle.interval.ms=5000
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=5
group.initial.rebalance.delay.ms=0
"""

# Standard output has only the line that says that the broker is ready: `broker_process` waits for it.
_LOG4J = f"""\
<Configuration status="WARN" shutdownHook="disable">
  <Appenders>
    <RollingFile name="file" fileName="{LOG}" filePattern="{LOG}.%i">
      <PatternLayout pattern="%d{{ISO8601}} %p %m (%c)%n"/>
      <SizeBasedTriggeringPolicy size="10 MB"/>
      <DefaultRolloverStrategy max="1"/>
    </RollingFile>
    <Console name="ready" target="SYSTEM_OUT">
      <PatternLayout pattern="%m%n"/>
    </Console>
  </Appenders>
  <Loggers>
    <Logger name="kafka.server.KafkaRaftServer" level="INFO"><AppenderRef ref="ready"/></Logger>
    <Root level="INFO"><AppenderRef ref="file"/></Root>
  </Loggers>
</Configuration>
"""


def template() -> str:
    """Return the settings without the values that are chosen at a start."""
    return _SERVER


def write_settings(folder: Path, ports: Ports, topics: str = TOPICS, more: Mapping[str, str] | None = None) -> None:
    """Write `server.properties` and `log4j2.xml` into the data folder, and empty its folder of temporary files.

    Args:
        folder: the data folder.
        ports: ports of the broker.
        topics: Kafka's own folder within it.
        more: settings that override Penstock's, in ASCII; `{ports.broker}` and `{ports.controller}` are replaced with the
            ports.
    """
    shutil.rmtree(folder / TEMPORARY, ignore_errors=True)  # a broker that was killed has left files in it
    (folder / TEMPORARY).mkdir()
    own = "".join(f"{name}={text}\n" for name, text in (more or {}).items())  # the last of two with the same name wins
    text = f"{_SERVER}{own}".format(ports=ports, topics=topics)
    (folder / "server.properties").write_text(text, encoding="ascii")
    (folder / "log4j2.xml").write_text(_LOG4J, encoding="ascii")
