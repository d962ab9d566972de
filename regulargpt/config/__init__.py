"""What a run is: every option complete, recipes and protocols as data."""
