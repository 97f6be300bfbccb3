"""The statements of what people ask."""
