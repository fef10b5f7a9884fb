"""A MIDI file as mido writes it, and its notes as mido reads them: tests/io/test_midi.c."""
import json
import random

import mido


def make(folder):
    draw = random.Random(7)
    file = mido.MidiFile(type=1, ticks_per_beat=384)
    file.tracks.append(mido.MidiTrack([mido.MetaMessage("set_tempo", tempo=mido.bpm2tempo(72)),
                                       mido.MetaMessage("key_signature", key="G"),
                                       mido.Message("sysex", data=(1, 2, 3))]))
    for voice, name in enumerate(["Soprano", "Alto", "Tenor", "Bass"]):
        track = mido.MidiTrack([mido.MetaMessage("track_name", name=name),
                                mido.Message("program_change", channel=voice, program=52),
                                mido.Message("control_change", channel=voice, control=7, value=100)])
        for _ in range(12):
            pitch, rest = 72 - 7 * voice + draw.randrange(7), draw.choice([0, 0, 0, 96, 20000])
            track.append(mido.Message("note_on", channel=voice, note=pitch, velocity=draw.randrange(1, 128), time=rest))
            if draw.random() < 0.3:
                track.append(mido.Message("pitchwheel", channel=voice, pitch=100, time=10))
            length = draw.choice([96, 192, 384])
            track.append(mido.Message("note_on", channel=voice, note=pitch, velocity=0, time=length)
                         if draw.random() < 0.5 else
                         mido.Message("note_off", channel=voice, note=pitch, velocity=3, time=length))
        file.tracks.append(track)
    file.save(folder / "mido.mid")
    notes = []
    for number, track in enumerate(mido.MidiFile(folder / "mido.mid").tracks):
        now, begun = 0, {}
        for message in track:
            now += message.time
            if message.type == "note_on" and message.velocity > 0:
                begun[message.note] = (now, message.velocity)
            elif message.type in ("note_on", "note_off"):
                start, velocity = begun.pop(message.note)
                notes.append([start, now, number, message.channel, message.note, velocity])
    notes.sort(key=lambda n: (n[0], n[2], n[4]))
    (folder / "mido.json").write_text(json.dumps({"division": 384, "tempo": 72, "names": [t.name for t in file.tracks],
                                                  "notes": notes}) + "\n")
