"""The only place that knows providers."""
