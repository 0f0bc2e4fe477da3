"""hushd watches sensors over MQTT and tells people when a rule is broken."""
