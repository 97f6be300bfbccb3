"""Show and settle uncertain effects: calls of `ctx.once` that did not end, or ended with an error."""
