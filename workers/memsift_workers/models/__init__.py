"""Model files on disk: fetching the default one, finding the one that the settings name."""
