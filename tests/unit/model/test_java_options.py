"""`spec.java.options`: which options of the JVM a Connector may have, and what is said of the others."""

import pytest

from penstock_model.resources.connector import Connector
from penstock_model.resources.java_options import refused_options, secret_options
from penstock_model.resources.refused_fields import refused_fields


@pytest.mark.parametrize(
    "option",
    [
        "-Duser.timezone=Europe/Berlin",
        "-Djavax.net.ssl.trustStore=/etc/orders-tls/trust.p12",
        "-Dsome.flag",
        "-XX:+UseG1GC",
        "-XX:-UseAdaptiveSizePolicy",
        "-XX:MaxDirectMemorySize=128m",
        "-XX:MaxMetaspaceSize=200m",
        "-XX:HeapDumpPath=/dumps/heap.hprof",
        "-XX:+ExitOnOutOfMemoryError",
        "-Xss512k",
        "-Xlog:gc*:stdout",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "-Dpattern=${message}",
    ],
)
def test_options_that_break_nothing_are_the_users(option: str) -> None:
    assert not list(refused_options([option]))


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("-Xmx2g", "spec.java.heapPercent sets the heap"),
        ("-Xms2g", "spec.java.heapPercent sets the heap"),
        ("-XX:MaxRAMPercentage=80", "spec.java.heapPercent sets the heap"),
        ("-XX:InitialRAMPercentage=80", "spec.java.heapPercent sets the heap"),
        ("-XX:MaxHeapSize=2g", "spec.java.heapPercent sets the heap"),
        ("-cp", "classes come from the plugin's image"),
        ("-classpath", "classes come from the plugin's image"),
        ("--module-path=/x", "classes come from the plugin's image"),
        ("-jar", "classes come from the plugin's image"),
        ("-Djava.class.path=/x", "classes come from the plugin's image"),
        ("-Xbootclasspath/a:/x.jar", "classes come from the plugin's image"),
        ("-javaagent:/x.jar", "agents cannot run"),
        ("-agentlib:jdwp=transport=dt_socket", "agents cannot run"),
        ("-agentpath:/x.so", "agents cannot run"),
        ("-Xrunjdwp:transport=dt_socket", "a debugger could stop the task"),
        ("-Xdebug", "a debugger could stop the task"),
        ("-Dcom.sun.management.jmxremote.port=9999", "it opens a port"),
        ("-XX:OnOutOfMemoryError=kill -9 1", "the JVM runs no command"),
        ("-XX:OnError=gdb", "the JVM runs no command"),
        ("-XX:-ExitOnOutOfMemoryError", "its task restarts"),
        ("-XX:+CrashOnOutOfMemoryError", "a crash would hide"),
        ("-XX:Flags=/x", "options in files are not checked"),
        ("-XX:VMOptionsFile=/x", "options in files are not checked"),
        ("@/x/options", "options in files are not checked"),
        ("-XX:HeapDumpPath=dump.hprof", "absolute path"),
        ("-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=/..."),
        ("-Djava.io.tmpdir=/x", "set TMPDIR"),
        ("java.base/java.lang=ALL-UNNAMED", "does not start with -"),
        ("--add-opens", "only -D<property>=<value>"),
        ("-version", "only -D<property>=<value>"),
        ("-Dx=1\n-Xmx1g", "only -D<property>=<value>"),
        ("-Djavax.net.ssl.keyStorePassword=${secret:tls:password}", "variables are resolved in spec.config only"),
    ],
)
def test_options_that_are_not_the_users_are_refused_with_what_to_do(option: str, told: str) -> None:
    (problem,) = refused_options(["-Dgood=1", option])
    assert problem.property == "spec.java.options[1]"
    assert told in problem.message


def test_a_heap_dump_is_written_where_a_volume_is_named_for_it() -> None:
    assert not list(refused_options(["-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=/dumps/a.hprof"]))


def test_a_password_in_an_option_is_warned_of_without_its_value() -> None:
    (warning,) = secret_options(["-Djavax.net.ssl.keyStorePassword=hunter22", "-Dplain=x"])
    assert "-Djavax.net.ssl.keyStorePassword" in warning.message
    assert "hunter22" not in warning.message


def test_a_password_in_the_url_of_an_option_is_warned_of_without_the_url() -> None:
    (warning,) = secret_options(["-Dproxy=http://ann:hunter22@proxy:3128", "-Dother=http://proxy:3128"])
    assert "-Dproxy" in warning.message
    assert "hunter22" not in warning.message


def test_kafkas_list_of_token_endpoints_is_no_secret() -> None:
    option = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://login.example.com/token"
    assert not list(secret_options([option]))


def java(**given: object) -> Connector:
    spec = {"class": "FileStreamSource", "java": given}
    return Connector.draft(
        {"apiVersion": "penstock.dev/v1alpha1", "kind": "Connector", "metadata": {"name": "a"}, "spec": spec}
    )


def test_a_refused_option_is_a_problem_of_the_connector_without_a_pod() -> None:
    (problem,) = refused_fields(java(options=["-Xmx1g"]).spec)
    assert str(problem).startswith("spec.java.options[0]: cannot be -Xmx1g: spec.java.heapPercent sets the heap")


@pytest.mark.parametrize("percent", [9, 76, "50", 50.5])
def test_a_heap_leaves_room_for_the_rest_of_the_process(percent: object) -> None:
    assert [p.property for p in java(heapPercent=percent).reading.problems] == ["spec.java.heapPercent"]
