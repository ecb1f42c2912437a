"""What stands on each screen, as lines of text: functions of what was seen and of the room there is."""
