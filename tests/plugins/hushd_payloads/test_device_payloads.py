"""Messages of real devices, where they are on this machine; the file stays where it is."""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hushd.core.times import stamp_parser
from hushd.plugin import Sample, Wanted, load

FILE = Path(__file__).parents[4] / "shared" / "data" / "payloads.jsonl"
DECODERS = load().decoders
auto = stamp_parser()
berlin = stamp_parser("auto", ZoneInfo("Europe/Berlin"))

pytestmark = pytest.mark.skipif(not FILE.exists(), reason=f"{FILE} is not here")


def number():
    return DECODERS["number"].build(Wanted())


def field(value, time=None, stamp=auto, **labels):
    wanted = Wanted(value, time, tuple(labels.items()), stamp if time else None)
    return DECODERS["json"].build(wanted)


def messages():
    with FILE.open() as lines:
        return {message["id"]: message for message in map(json.loads, lines)}


#: message -> the sensor's decoder, and which of the expected metrics it is asked for
READ = {
    "z2m-last-seen-iso": (field("temperature", "last_seen"), "temperature"),
    "z2m-last-seen-epoch-ms": (field("temperature", "last_seen"), "temperature"),
    "tasmota-with-offset": (field("DS18B20.Temperature", "Time"), "DS18B20.Temperature"),
    "tasmota-epoch": (field("DS18B20.Temperature", "Time"), "DS18B20.Temperature"),
    "tasmota-localised-key": (field("SR04.Distanz", "Time", berlin), "SR04.Distance"),
    "shelly1-plain": (number(), "temperature"),
    "esphome-state": (number(), "laeq_1min"),
    "sck-json": (field("data[*].sensors[id=53].value", "data[*].recorded_at"), "53"),
    "chirpstack-up": (
        field("object.LAeq", "time", device="deviceInfo.deviceName", site="deviceInfo.tags.site"),
        "LAeq",
    ),
    "netvox-noise": (field("uplink_message.decoded_payload.Noise", "received_at"), "Noise"),
    "ha-statestream": (field(""), "noise_bedroom"),
    "omg-ble-strings": (field("tempc", device="id"), "tempc"),
    "rtl433-event": (
        field("temperature_C", "time", berlin, model="model", id="id", channel="channel"),
        "temperature_C",
    ),
    "theengs": (field("tempc", device="id"), "tempc"),
    "victron-value": (field("value"), "Temperature"),
    "ems-esp": (field("dhw.curtemp"), "dhw.curtemp"),
    "zwavejs-time-value": (field("value", "time"), "Air_temperature"),
    "airgradient": (field("pm02", device="serialno"), "pm02"),
    "senml-relative": (field("[n=laeq].v"), "laeq"),  # relative times are SenML's own
    "leading-space": (number(), "value"),
    "ngsi-interval": (field("LAeq", "dateObservedTo", id="id"), "LAeq"),
    "ar844": (field("avg"), "avg"),
}


@pytest.mark.parametrize("name", READ)
def test_a_device_is_read(name):
    message = messages()[name]
    decode, metric = READ[name]
    samples = decode(message["payload"].encode())
    expected = [reading for reading in message["expect"] if reading["metric"] == metric]
    assert len(samples) == len(expected) > 0
    for sample, reading in zip(samples, expected, strict=True):
        assert sample.value == pytest.approx(reading["value"], abs=1e-4)  # the file rounds dust
        if sample.at is not None:  # else it is the arrival, which is not the decoder's business
            at = datetime.fromisoformat(reading["time"]).timestamp()
            assert sample.at / 1e9 == pytest.approx(at, abs=1e-5)
        assert set(sample.labels) <= set(reading.get("labels", {}).items())


@pytest.mark.parametrize(
    ("name", "decode", "reason"),
    [
        ("esphome-nan", number(), "not_finite"),
        ("esphome-neg-inf", number(), "not_finite"),
        ("shelly1-online", number(), "not_a_number"),
        ("homie5-lost", number(), "not_a_number"),
        ("wirenboard-error", number(), "not_a_number"),
        ("victron-gone", field("value"), "empty"),
        ("victron-gone", number(), "empty"),
        ("unit-suffix", number(), "not_a_number"),
        ("unit-suffix-degc", number(), "not_a_number"),
        ("csv-line", number(), "not_a_number"),
        ("json-bare-nan", field("lux"), "bad_json"),
        ("sck-raw", field("53"), "bad_json"),
        ("dnms-line-protocol", field("DNMS_noise_LAeq"), "bad_json"),
        ("sparkplugb-ndata", field("value"), "bad_json"),
    ],
)
def test_what_is_no_reading_is_refused_with_its_reason(name, decode, reason):
    (refused,) = decode(messages()[name]["payload"].encode())
    assert refused.reason == reason


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("shelly2-partial", 'params."temperature:0".tC'),
        ("z2m-availability", "temperature"),
        ("chirpstack-duplicate-fcnt", "object.LAFmax"),
    ],
)
def test_what_does_not_concern_the_sensor_is_no_fault(name, path):
    assert field(path)(messages()[name]["payload"].encode()) == []


def test_a_message_that_is_sent_again_is_read_the_same_again():
    first, again = messages()["z2m-last-seen-epoch-ms"], messages()["z2m-cached-repeat"]
    decode = field("temperature", "last_seen")
    (sample,) = decode(first["payload"].encode())
    assert isinstance(sample, Sample)
    assert decode(again["payload"].encode()) == [
        sample
    ]  # the engine drops it: same time, same value
