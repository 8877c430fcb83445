"""Taking a turn back: what it changed in files, cells and variables, and how that is put back."""
