"""The pure heart of hushd: readings, windows, rules, alerts and the engine.

Nothing here reads a clock, a socket, a file, an environment variable or a random
number; nothing logs, nothing starts a thread.  Time is an argument, in nanoseconds.
"""
