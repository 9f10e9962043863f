"""export's timelines: Chrome's JSON and Perfetto's packets, each read into the same slices, flows and
counters, which have to nest, to lead somewhere, and to add up to the report.

XFERSCOPE_PROTOC is protoc-c, XFERSCOPE_PROTO Perfetto's messages as the build has them."""

import collections
import json
import os
import subprocess
import unittest

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from lab import DATA, SharedLab

Slice = collections.namedtuple("Slice", "track start end name category notes instant")


class Timeline:
    """Slices by track (a name and what it lies in), flows [(id, track, moment, arrives)], counters by track."""

    def __init__(self):
        self.tracks = collections.defaultdict(list)
        self.names = {}
        self.flows = []
        self.counters = collections.defaultdict(list)

    def slices(self, *categories):
        return [s for track in self.tracks.values() for s in track if s.category in categories]


# ---- Chrome ---------------------------------------------------------------------------------------------------


def nanoseconds(text):
    whole, _, rest = text.partition(".")
    assert len(rest) == 3, text
    return int(whole) * 1000 + int(rest)


def read_chrome(data):
    """Times are kept as they are written: a double of Python's would do, but so nothing is lost."""
    root = json.loads(data, parse_float=str)
    assert set(root) == {"displayTimeUnit", "otherData", "traceEvents"}
    base, timeline = int(root["otherData"]["zero_ns_since_1970"]), Timeline()
    for event in root["traceEvents"]:
        place = (event["pid"], event["tid"])
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                assert place not in timeline.names
                timeline.names[place] = event["args"]["name"]
            continue
        at = base + nanoseconds(event["ts"])
        if event["ph"] in ("X", "i"):
            notes = {key: float(value) if isinstance(value, str) and key.endswith(("_ns", "_s")) else value
                     for key, value in event["args"].items()}
            end = at + nanoseconds(event["dur"]) if event["ph"] == "X" else at
            timeline.tracks[place].append(
                Slice(place, at, end, event["name"], event["cat"], notes, event["ph"] == "i"))
        elif event["ph"] in ("s", "f"):
            assert event["ph"] == "s" or event["bp"] == "e"
            timeline.flows.append((int(event["id"], 16), place, at, event["ph"] == "f"))
        else:
            assert event["ph"] == "C", event
            timeline.counters[(event["pid"], event["name"])].append((at, float(event["args"]["GB/s"])))
    assert set(timeline.tracks) <= set(timeline.names)
    return timeline


# ---- Perfetto -------------------------------------------------------------------------------------------------


def messages():
    proto = os.environ["XFERSCOPE_PROTO"]
    done = subprocess.run([os.environ["XFERSCOPE_PROTOC"], f"-I{os.path.dirname(proto)}",
                           "--descriptor_set_out=/dev/stdout", proto], stdout=subprocess.PIPE, check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(done.stdout).file:
        pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("perfetto_trace.Trace"))


class Sequence:
    """What packets of one sequence refer to."""

    def __init__(self):
        self.categories, self.names, self.keys, self.texts = {}, {}, {}, {}

    def take(self, data):
        for known, items in ((self.categories, data.event_categories), (self.names, data.event_names),
                             (self.keys, data.debug_annotation_names),
                             (self.texts, data.debug_annotation_string_values)):
            for item in items:
                assert item.iid > 0 and item.iid not in known
                known[item.iid] = item.text

    def notes(self, event):
        notes = {}
        for note in event.debug_annotations:
            key = self.keys[note.name_iid]
            assert key not in notes
            notes[key] = (self.texts[note.string_value_iid] if note.HasField("string_value_iid") else
                          note.int_value if note.HasField("int_value") else
                          note.double_value if note.HasField("double_value") else note.bool_value)
        return notes


def read_perfetto(data):
    """As Perfetto's importer does: packets in the order of their times, those of one time as they lie there."""
    timeline, sequences, events, tracks, primary = Timeline(), {}, [], {}, None
    for packet in messages().FromString(data).packet:
        if packet.sequence_flags == 1:
            sequences[packet.trusted_packet_sequence_id] = Sequence()
            assert packet.trace_packet_defaults.timestamp_clock_id == 1
        sequence = sequences[packet.trusted_packet_sequence_id]
        sequence.take(packet.interned_data)
        if packet.HasField("clock_snapshot"):
            assert primary is None
            primary = packet.clock_snapshot.primary_trace_clock
        elif packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks
            tracks[track.uuid] = track
            assert not track.parent_uuid or track.parent_uuid in tracks
            timeline.names[track.uuid] = track.name or track.thread.thread_name or track.process.process_name
        else:
            event = packet.track_event
            assert event.track_uuid in tracks and packet.timestamp > 0
            named = sequence.names[event.name_iid] if event.HasField("name_iid") else None
            category = sequence.categories[event.category_iids[0]] if event.category_iids else None
            events.append((packet.timestamp, event, named, category, sequence.notes(event)))
    assert primary == 1
    stacks = collections.defaultdict(list)
    for at, event, name, category, notes in sorted(events, key=lambda e: e[0]):
        place = event.track_uuid
        timeline.flows += [(flow, place, at, category in ("copy", "kernel", "memset")) for flow in event.flow_ids]
        if event.type == 1:
            stacks[place].append((at, name, category, notes))
        elif event.type == 2:
            start, name, category, notes = stacks[place].pop()
            timeline.tracks[place].append(Slice(place, start, at, name, category, notes, False))
        elif event.type == 3:
            timeline.tracks[place].append(Slice(place, at, at, name, category, notes, True))
        else:
            timeline.counters[place].append((at, event.double_counter_value))
    assert not any(stacks.values())
    return timeline


READERS = {"chrome": read_chrome, "perfetto": read_perfetto}


class Timelines(SharedLab):
    """The timelines of the runs are read once."""

    read, dumps = [], {}

    def timelines(self, *arguments):
        for name, reader in READERS.items():
            yield name, reader(self.export(*arguments, "-f", name))

    def every(self):
        if not self.read:
            self.read += [((name, run), run, timeline) for run in self.runs() for name, timeline in self.timelines(*run)]
        return self.read

    def test_sums_are_those_of_the_report(self):
        for what, run, timeline in self.every():
            found = self.add_up((s.notes["direction"], s.notes.get("src_memory"), s.notes.get("dst_memory"),
                                 s.notes["bytes"], s.notes.get("achieved_ns")) for s in timeline.slices("transfer"))
            self.assert_same(found, self.reported(*run), what)

    def dumped(self, run, *kinds):
        """Dumped once for a run, whatever is asked of it."""
        key = tuple(run)
        if key not in self.dumps:
            self.dumps[key] = self.dump(run)
        return [event for event in self.dumps[key] if event["kind"] in kinds]

    def dump(self, run):
        found = []
        for one in run:
            if one.endswith((".trace", ".xft")):
                done = self.run_command("dump", one, "-f", "json")
                found += [line for line in map(json.loads, done.stdout.decode().splitlines())
                          if line["type"] == "event" and line["start_ns"]]
        return found

    def test_what_the_devices_did(self):
        for what, run, timeline in self.every():
            for category, kind in (("copy", "device-copy"), ("kernel", "kernel"), ("memset", "memset"),
                                   ("migration", "migration")):
                expected, found = self.dumped(run, kind), timeline.slices(category)
                self.assertEqual(len(found), len(expected), (what, kind))
                lengths = sorted(s.notes.get("ns", s.end - s.start) for s in found)
                self.assertEqual(lengths, sorted(max(0, e["end_ns"] - e["start_ns"]) for e in expected), (what, kind))
                if kind != "kernel":
                    self.assertEqual(sum(s.notes["bytes"] for s in found), sum(e["bytes"] for e in expected), (what, kind))

    def test_what_the_recorder_notes_is_no_call(self):
        for name, timeline in self.timelines(self.make("kinds")):
            found = {s.category for track in timeline.tracks.values() for s in track}
            self.assertLess({"alloc", "sync", "launch"}, found, name)
            self.assertEqual(found & {"content", "records", "overhead", "period", "host-access", "processor"}, set(), name)

    def test_slices_nest(self):
        for what, _, timeline in self.every():
            for track in timeline.tracks.values():
                ends = []
                for s in sorted((s for s in track if not s.instant), key=lambda s: (s.start, -s.end)):
                    while ends and ends[-1] <= s.start:
                        ends.pop()
                    self.assertTrue(not ends or s.end <= ends[-1], (what, s))
                    ends.append(s.end)

    def test_calls_that_overlap(self):
        """On further lanes, and what is too much for these as a moment; those within another lie in it."""
        for name, timeline in self.timelines(self.make("overlapping")):
            lanes = [[(s.start, s.end) for s in track] for track in timeline.tracks.values()]
            first = min(start for lane in lanes for start, _ in lane)
            lanes = [sorted((start - first, end - first) for start, end in lane) for lane in lanes]
            self.assertEqual(len(lanes), 8, name)
            moments = [s for s in timeline.slices("transfer") if s.instant]
            self.assertEqual([(s.start - first, s.notes["ns"]) for s in moments], [(800, 2000), (900, 2000)], name)
            self.assertEqual(next(lane for lane in lanes if lane[0][0] == 0)[-4:],
                             [(5000, 6000), (5100, 5200), (5300, 5900), (5400, 5500)], name)
            for lane in lanes[1:]:
                self.assertEqual(len(lane), 1)

    def test_flows_lead_from_calls_to_what_they_did(self):
        joined = 0
        for what, run, timeline in self.every():
            begun = {flow for flow, _, _, arrives in timeline.flows if not arrives}
            ended = [flow for flow, _, _, arrives in timeline.flows if arrives]
            calls = {e["correlation"] for e in self.dumped(run, "transfer", "launch", "set") if e["correlation"]}
            strays = [flow for flow in ended if flow not in begun]
            for flow in strays:
                self.assertNotIn(flow & 0xffffffff, calls, what)
            joined += len(ended) - len(strays)
            places = {(s.track, s.start) for track in timeline.tracks.values() for s in track}
            for _, place, at, _ in timeline.flows:
                self.assertIn((place, at), places, what)
        self.assertGreater(joined, 10000)

    def test_a_recorded_run_has_no_loose_ends(self):
        run = str(DATA / "h200-pytorch.xft")
        for name, timeline in self.timelines(run):
            begun = [flow for flow, _, _, arrives in timeline.flows if not arrives]
            ended = [flow for flow, _, _, arrives in timeline.flows if arrives]
            self.assertEqual(sorted(begun), sorted(ended), name)
            moments = dict((flow, at) for flow, _, at, arrives in timeline.flows if not arrives)
            self.assertGreater(sum(at >= moments[flow] for flow, _, at, arrives in timeline.flows if arrives),
                               0.99 * len(ended), name)
            self.assertFalse([n for n in timeline.names.values() if "meanwhile" in n], name)

    def test_counters_are_the_bandwidth(self):
        for what, _, timeline in self.every():
            moved = sum(s.notes["bytes"] for s in timeline.slices("copy", "migration") if s.end > s.start)
            area = 0
            for values in timeline.counters.values():
                self.assertEqual([at for at, _ in values], sorted(at for at, _ in values), what)
                self.assertEqual(values[-1][1], 0, what)
                area += sum(rate * (after - at) for (at, rate), (after, _) in zip(values, values[1:]))
            self.assertAlmostEqual(area, moved, delta=1 + moved * 1e-6, msg=what)

    def test_times_are_those_of_the_day(self):
        trace = self.make("mixed")
        events = [line for line in map(json.loads, self.run_command("dump", trace, "-f", "json").stdout.decode()
                                       .splitlines())]
        offset = events[0]["start_real_ns"] - events[0]["start_mono_ns"]
        expected = sorted(e["start_ns"] + offset for e in events if e["type"] == "event" and e["kind"] == "device-copy")
        for name, timeline in self.timelines(trace):
            self.assertEqual(sorted(s.start for s in timeline.slices("copy")), expected, name)

    def test_ranges(self):
        trace = self.make("phases")
        begun = self.dumped([trace], "range-begin")
        for name, timeline in self.timelines(trace):
            found = sorted((s.name, s.start) for s in timeline.slices("range"))
            offset = found[0][1] - sorted((e["name"] or "(no name)", e["start_ns"]) for e in begun)[0][1]
            self.assertEqual(found, sorted((e["name"] or "(no name)", e["start_ns"] + offset) for e in begun), name)

    def test_polled_waits_are_drawn_whole(self):
        """From the first query on; not where the thread worked between the queries."""
        run = [self.make("polled")]
        queries = self.dumped(run, "query")
        self.assertEqual([e["count"] for e in queries], [10, 11, 12, 0])
        for name, timeline in self.timelines(*run):
            found = sorted(timeline.slices("polled-wait", "query"), key=lambda s: s.end)
            self.assertEqual([(s.category, s.end - s.start, s.notes.get("queries")) for s in found],
                             [("polled-wait", 100500, 11), ("query", 500, 12), ("polled-wait", 100500, 13),
                              ("query", 500, None)], name)

    def test_processes_with_one_number_are_two(self):
        for i, folder in enumerate("ab"):
            self.make("mixed", name=f"{folder}/1-1.trace")
        run = (self.path("a/1-1.trace"), self.path("b/1-1.trace"))
        one = dict(self.timelines(run[0]))
        for name, timeline in self.timelines(*run):
            self.assertEqual(len(timeline.slices("transfer")), 2 * len(one[name].slices("transfer")))
            self.assertEqual(len(timeline.names), 2 * len(one[name].names) - self.shared(one[name]), name)

    @staticmethod
    def shared(timeline):
        """Tracks of GPUs and their engines belong to no process."""
        return sum(n.startswith("GPU ") or n in ("H2D copies", "D2H copies", "D2D copies", "kernels", "memsets")
                   for n in timeline.names.values())

    def test_hostile_text(self):
        for name in READERS:
            data = self.export(self.make("hostile"), "-f", name)
            if name == "chrome":
                self.assert_clean(data.decode())
            else:
                for text in READERS[name](data).names.values():
                    self.assert_clean(text, "")

    def test_damaged_and_random_traces(self):
        """What else may come: the sums need not be right, but the form has to."""
        for i in range(13):
            self.make("ill", str(i), f"ill{i}.trace")
            done = self.run_command("export", f"ill{i}.trace", "-f", "chrome")
            self.assertIn(done.returncode, (0, 1, 3))
            if done.returncode != 1:
                json.loads(done.stdout)
                done = self.run_command("export", f"ill{i}.trace", "-f", "perfetto", "-o", "out")
                with open(self.path("out"), "rb") as file:
                    read_perfetto(file.read())

    def test_absurd_times(self):
        """The form holds, and so do a slice's ends, whatever clocks say."""
        for variant in ("", "late", "early"):
            self.make("absurd", variant, f"absurd{variant}.trace")
            for name, reader in READERS.items():
                timeline = reader(self.export(f"absurd{variant}.trace", "-f", name))
                self.assertTrue(timeline.slices("copy"), (variant, name))
                for track in timeline.tracks.values():
                    for s in track:
                        self.assertTrue(0 <= s.start <= s.end < 1 << 63, (variant, name, s))
                for values in timeline.counters.values():
                    self.assertEqual([at for at, _ in values], sorted(at for at, _ in values), (variant, name))

    def test_names_beyond_those_that_are_kept(self):
        self.make("absurd", "texts", "texts.trace")
        for name, reader in READERS.items():
            timeline = reader(self.export("texts.trace", "-f", name))
            found = [(s.name[:5], s.notes["domain"][:5]) for s in timeline.slices("range")]
            self.assertEqual(sorted(int("".join(filter(str.isdigit, n))) for n, _ in found), list(range(1, 3001)))
            for text, domain in found:
                self.assertEqual((text[0], domain[0]), ("n", "d"), name)


if __name__ == "__main__":
    unittest.main()
