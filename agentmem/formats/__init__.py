"""Export and import, one small file a format; `registry` knows them all."""
