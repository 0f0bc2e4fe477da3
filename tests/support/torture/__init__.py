"""What the torture runs are made of: a daemon, its surroundings, and all that goes wrong."""
