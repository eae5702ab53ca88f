"""Export and import, one small file a format."""
