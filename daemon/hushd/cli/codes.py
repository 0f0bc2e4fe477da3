"""Exit codes: scripts and systemd rely on them."""

OK = 0
NOT_SO = 1  # the thing asked about is not so
USAGE = 2
UNAVAILABLE = 69  # a service that is needed is not there (EX_UNAVAILABLE)
BAD_CONFIG = 78  # the unit file tells systemd not to restart then (EX_CONFIG)
