"""Tables and live displays for a terminal."""
