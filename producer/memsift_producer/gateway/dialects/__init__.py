"""The request and response forms that clients speak, one file each."""
