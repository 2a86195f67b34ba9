"""Checks traces of ours against the JSON lines of the same exports: check_trace.py TRACE LINES [TRACE LINES]...

The trace is decoded by Perfetto's own message classes, from the PyPI package `perfetto`. What must hold of the packets is then
checked here, since trace_processor itself is no part of that package. Prints what was counted, as JSON.
"""

import collections
import datetime
import json
import sys

from google.protobuf import message, unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

REALTIME, LOG_CLOCK = 1, 64
CLEARED = perfetto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
BEGIN, END = perfetto.TrackEvent.TYPE_SLICE_BEGIN, perfetto.TrackEvent.TYPE_SLICE_END
INSTANT, COUNTER = perfetto.TrackEvent.TYPE_INSTANT, perfetto.TrackEvent.TYPE_COUNTER
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
OPENS = {"stream.opened": "stream", "connection.opened": "connection"}
ENDS = {
    "stream.ended": "stream",
    "gap": "gap",
    "list.complete": "list",
    "connection.closed": "connection",
}
SEAM = "not known: watchscope stopped here"
RANGE = "open at the end of the range"
OTHER_OBJECTS = "other objects"


def nanoseconds(text):
    """An RFC 3339 time as nanoseconds since 1970."""
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (at - EPOCH) // datetime.timedelta(microseconds=1) * 1000


def check_known(part):
    """Fails if a message has a field that Perfetto does not know."""
    assert len(unknown_fields.UnknownFieldSet(part)) == 0, f"unknown field in {part}"
    for field, value in part.ListFields():
        if field.message_type is not None:
            parts = [value] if isinstance(value, message.Message) else value
            for part in parts:
                check_known(part)


def annotations(event):
    """The annotations of an event by name; none twice."""
    said = {}
    for annotation in event.debug_annotations:
        assert annotation.name and annotation.name not in said, event
        said[annotation.name] = getattr(annotation, annotation.WhichOneof("value"))
    return said


class Seen:
    """An event as it is compared with a line: for the end of a slice, what that slice is."""

    def __init__(self, kind, at, track, category, name, said, begin=None):
        self.kind, self.at, self.track, self.category = kind, at, track, category
        self.name, self.said, self.begin = name, said, begin


class Trace:
    """Reads packets in their order and checks each against those before it."""

    def __init__(self):
        self.tracks = {}
        self.now = {}
        self.runs = {}
        # The slices that are open, by track: all of one track are of one sequence.
        self.open = collections.defaultdict(list)
        self.events = collections.defaultdict(list)
        self.values = collections.defaultdict(list)

    def packet(self, packet):
        sequence = packet.trusted_packet_sequence_id
        assert sequence > 0, packet
        if sequence not in self.now:
            assert packet.sequence_flags & CLEARED, packet
            assert packet.HasField("clock_snapshot"), packet
            snapshot = packet.clock_snapshot
            clocks = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
            assert set(clocks) == {REALTIME, LOG_CLOCK}, snapshot
            assert clocks[REALTIME] == clocks[LOG_CLOCK], snapshot
            assert snapshot.primary_trace_clock == REALTIME, snapshot
            assert sequence == len(self.now) + 1, "sequences are counted from 1"
            assert not any(self.open.values()), "all of the run before is closed"
            self.now[sequence] = clocks[REALTIME]
        elif packet.HasField("track_descriptor"):
            self.descriptor(packet.track_descriptor)
        elif packet.HasField("track_event"):
            assert packet.timestamp_clock_id == LOG_CLOCK, packet
            assert packet.timestamp >= self.now[sequence], "times never decrease in a sequence"
            self.now[sequence] = packet.timestamp
            self.event(sequence, packet.timestamp, packet.track_event)
        else:
            raise AssertionError(f"no packet of ours: {packet}")

    def descriptor(self, track):
        assert track.uuid and track.uuid not in self.tracks, f"described twice: {track}"
        if track.HasField("parent_uuid"):
            assert track.parent_uuid in self.tracks, f"described before its parent: {track}"
        self.tracks[track.uuid] = track

    def event(self, sequence, at, event):
        track = self.tracks[event.track_uuid]
        is_value = event.type == COUNTER
        assert track.HasField("counter") == is_value, f"{event} on {track}"
        if is_value:
            self.values[sequence].append((at, self.path(track)[-2], event.counter_value))
            return
        said = annotations(event)
        open_here = self.open[track.uuid]
        if event.type == END:
            assert open_here, f"{event} ends nothing"
            begin = open_here.pop()
            assert begin.said.keys().isdisjoint(said), f"one name at both ends: {event}"
            seen = Seen(END, at, track, begin.category, begin.name, said, begin)
            assert begin.at <= at
        else:
            assert event.type in (BEGIN, INSTANT) and event.name, event
            (category,) = event.categories
            seen = Seen(event.type, at, track, category, event.name, said)
            if event.type == BEGIN:
                assert not open_here, f"two slices at once on {track}"
                open_here.append(seen)
        if event.type == INSTANT and seen.name == "run begins":
            self.runs[sequence] = said["epoch"]
        self.events[sequence].append(seen)

    def path(self, track):
        """The names of a track and those that it lies in, outermost first."""
        names = [track.name]
        while track.HasField("parent_uuid"):
            track = self.tracks[track.parent_uuid]
            names.insert(0, track.name)
        return names


def check_run(trace, sequence, lines, is_last, counts):
    """Each line is in the trace once, when and where it says, and as what it is."""
    by_seq = {line["seq"]: line for line in lines}
    found = {}
    for seen in trace.events[sequence]:
        for name in ("record", "end_record"):
            if name in seen.said:
                assert seen.said[name] not in found, f"record {seen.said[name]} is there twice"
                found[seen.said[name]] = seen
        if seen.kind == END and "end_record" not in seen.said:
            end = seen.said["end"]
            # What is open at its end says why it is closed.
            assert end != (SEAM if is_last else RANGE), end
            counts["closed where nothing says that it ended"] += 1
            counts[end] += 1
        if seen.kind == END and seen.category == "gap" and "end_record" in seen.said:
            gap = by_seq[seen.said["end_record"]]
            if gap["since"] in by_seq and "since_record" in seen.begin.said:
                assert seen.begin.said["since_record"] == gap["since"], gap
                assert seen.begin.at == nanoseconds(by_seq[gap["since"]]["at"]), gap
                counts["gaps from their begin"] += 1
    expected_values = []
    for line in lines:
        kind = line["type"]
        if kind == "loss" and line["where"] == "withheld" and line["count"] == 0:
            continue
        assert line["seq"] in found, f"not there: {line}"
        seen = found.pop(line["seq"])
        assert seen.at == nanoseconds(line["at"]), line
        counts[kind] += 1
        path = trace.path(seen.track)
        if kind in OPENS:
            assert (seen.kind, seen.category) == (BEGIN, OPENS[kind]), line
        elif kind in ENDS:
            assert (seen.kind, seen.category) == (END, ENDS[kind]), line
        elif kind in ("change", "verdict"):
            assert (seen.kind, seen.category) == (INSTANT, kind), line
            assert seen.name == line[kind if kind == "change" else "kind"], line
            name = "/".join(part for part in (line.get("namespace"), line["name"]) if part)
            if path[-1] == OTHER_OBJECTS:
                assert (seen.said["object"], seen.said["watch"]) == (name, line["watch"]), line
                counts[OTHER_OBJECTS] += 1
            else:
                assert path[-3:] == [line["watch"], "objects", name], (path, line)
        elif kind == "finding":
            assert seen.category == "finding", line
            assert seen.name.startswith(line["code"]), line
            assert line["state"] == "cleared" or seen.kind != END, line
        else:
            assert (seen.kind, seen.category) == (INSTANT, kind), line
        is_step = kind in ("bookmark", "list.complete") or line.get("origin") == "live"
        version = line.get("resourceVersion", "")
        if is_step and version.isdigit() and str(int(version)) == version and int(version) < 1 << 63:
            expected_values.append((seen.at, line["watch"], int(version)))
    assert not found, f"in no line: {sorted(found)}"
    assert trace.values[sequence] == expected_values, "values of resourceVersions"
    counts["values"] += len(expected_values)


def check(trace_path, lines_path, counts):
    decoded = perfetto.Trace()
    with open(trace_path, "rb") as file:
        decoded.ParseFromString(file.read())
    check_known(decoded)
    trace = Trace()
    for packet in decoded.packet:
        trace.packet(packet)
    assert not any(trace.open.values()), "a slice is not closed"
    runs = []
    with open(lines_path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            if "log" in line:
                runs.append((line["epoch"], []))
            else:
                runs[-1][1].append(line)
    counts["packets"] += len(decoded.packet)
    counts["tracks"] += len(trace.tracks)
    assert [trace.runs[sequence] for sequence in sorted(trace.now)] == [epoch for epoch, _ in runs]
    for sequence, (_, lines) in enumerate(runs, start=1):
        check_run(trace, sequence, lines, sequence == len(runs), counts)
    counts["sequences"] += len(runs)


def main(paths):
    counts = collections.Counter()
    for trace_path, lines_path in zip(paths[::2], paths[1::2], strict=True):
        check(trace_path, lines_path, counts)
    print(json.dumps(counts, sort_keys=True))


main(sys.argv[1:])
