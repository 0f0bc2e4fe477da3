"""The shell around the engine: where messages come from and where notes go.

``messages`` and ``inbox`` carry what a source received to the loop; ``intake`` makes
readings of it; ``loop`` feeds the engine; ``store`` keeps and ``delivery`` tells what the
engine decided.  Only here are clocks read, threads started and lines logged.
"""
